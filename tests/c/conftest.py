"""What every test of C kernels has."""

from tests.c.bare_headers import bare_headers
from tests.c.owned import watched_plans

__all__ = ["bare_headers", "watched_plans"]
