"""What tests of device code need; in CI its absence is a failure."""

from __future__ import annotations

import os

import pytest

from tinyrt.backends.cuda.host import find_compiler
from tinyrt.errors import ToolError


def _has_compiler():
    try:
        return bool(find_compiler())
    except ToolError:
        return False


needs_cxx = pytest.mark.skipif(
    not _has_compiler() and not os.environ.get("CI"),
    reason="no C++ compiler: run tools/setup_system.sh --tests",
)
