"""What every test of C kernels has."""

from tests.c.bare_headers import _bare_headers  # noqa: F401
