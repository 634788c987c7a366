"""Types and helpers of the functions that choose a C kernel for a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinyrt.backends.c.kernel import Calls, Kernel, Target, unordered
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep
from tinyrt.ops.shared.spec import Form

Chooser = Callable[[BoundNode, Target], Kernel]
"""Chooses the kernel of a node whose form it serves."""

Choosers = Mapping[str, Mapping[Form, Chooser]]
"""Op -> form -> chooser."""


def always(
    make_calls: Callable[[BoundNode, Target], Calls],
    sweep: Callable[[BoundNode], Sweep | None] | None = None,
) -> Chooser:
    """The chooser of an op with a single kernel, which takes no scratch memory.

    Args:
        make_calls: makes the kernel's calls, see ``Kernel``.
        sweep: gives the order in which it reads and writes; None: no fixed order.

    """

    def choose(node: BoundNode, target: Target) -> Kernel:
        ordered = unordered if sweep is None else lambda: sweep(node)
        return Kernel(lambda: make_calls(node, target), sweep=ordered)

    return choose
