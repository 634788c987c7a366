"""Compiled integer kernels: one module per op or family of ops, called as ``abi`` describes."""
