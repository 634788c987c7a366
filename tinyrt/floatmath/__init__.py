"""Float arithmetic that gives the same bits everywhere: compiled loops and their buffers."""
