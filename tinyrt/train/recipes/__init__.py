"""Training recipes: each trains one small model on data that installs with a package."""
