"""A gate for firmware's CI: what a model costs, against committed limits and a baseline."""
