"""Training an imported model for int8, in one call."""
