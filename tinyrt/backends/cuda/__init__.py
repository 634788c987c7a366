"""CUDA C++ for a model, from the same records as the C export."""
