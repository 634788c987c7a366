"""Where buffers lie: which may overlap, in which order they are placed, and how good that is."""
