"""Exported folders, judged by tools of the ecosystems whose shapes they have."""
