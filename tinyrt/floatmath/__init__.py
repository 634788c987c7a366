"""Float arithmetic whose every bit is defined: compiled loops, and the memory they work in."""
