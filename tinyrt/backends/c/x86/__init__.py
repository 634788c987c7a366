"""Kernels of x86 hosts with vectors."""
