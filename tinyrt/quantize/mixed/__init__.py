"""Mixed precision: a scheme for every layer, chosen under a budget."""
