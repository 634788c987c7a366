"""How ops are computed: tables of kernels, one for each backend."""
