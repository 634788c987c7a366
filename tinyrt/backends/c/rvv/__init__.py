"""Kernels for RISC-V cores with vectors."""
