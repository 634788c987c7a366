"""Where each figure in the prose of the documentation comes from."""
