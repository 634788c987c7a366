"""Segments as C: a loop over steps, whose stages share calls and compute batches of rows."""
