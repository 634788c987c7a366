"""Tensors, their tape and derivatives, and modules that own parameters."""
