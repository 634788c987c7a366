"""What the elements of a tensor may be, whatever the model's inputs are."""
