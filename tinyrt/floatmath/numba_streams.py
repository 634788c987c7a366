"""Numba compiles without touching the program's output streams."""

from __future__ import annotations

from contextlib import nullcontext

from numba.core import errors


def leave_streams() -> None:
    """Have Numba write its messages without colorama's hold on ``sys.stdout`` and ``sys.stderr``.

    Where colorama is installed, each message has it replace both streams and put back what it
    found. Numba prints nothing in between, and makes messages for every built-in function that it
    compiles. Threads compile, too: what a program redirects or restores meanwhile would be undone.
    """
    if hasattr(errors, "ColorShell"):
        errors.ColorShell = nullcontext
