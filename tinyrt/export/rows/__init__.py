"""Segments as C: a loop over steps; its stages share calls and compute batches of rows."""
