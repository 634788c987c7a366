"""Lowering to C: kernels for ops, packed for the instruction set that they run on."""
