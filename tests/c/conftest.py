"""What every test of C kernels has."""

from tests.c.bare_headers import bare_headers

__all__ = ["bare_headers"]
