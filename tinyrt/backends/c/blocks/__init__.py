"""Kernels of scalar and DSP cores that take four output channels at a time, and their packing."""
