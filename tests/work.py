"""Work in calls of functions, which no other work on the machine changes."""

import sys
from collections.abc import Callable


def calls(function: Callable[[], object]) -> int:
    """How many functions, in Python and in C, `function()` calls before it returns."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
