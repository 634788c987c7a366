"""Which ops run by rows: segments are built, their cost estimated, and the best ones placed."""
