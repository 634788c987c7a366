"""Which C kernel a node takes: asked once, and read by whoever plans, checks, counts and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinyrt.backends.c.kernel import Calls, Kernel, Target, unordered
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep
from tinyrt.ops.shared.spec import Form

Chooser = Callable[[BoundNode, Target], Kernel]
"""Chooses the kernel of a node whose form it serves."""

Choosers = Mapping[str, Mapping[Form, Chooser]]
"""Op -> form -> who chooses."""


def always(
    make_calls: Callable[[BoundNode, Target], Calls],
    sweep: Callable[[BoundNode], Sweep | None] | None = None,
) -> Chooser:
    """The chooser of an op that needs no scratch memory, and goes in one order if in any.

    Args:
        make_calls: finds the calls, see ``Kernel``.
        sweep: the order in which it reads and writes.

    """

    def choose(node: BoundNode, target: Target) -> Kernel:
        ordered = unordered if sweep is None else lambda: sweep(node)
        return Kernel(lambda: make_calls(node, target), sweep=ordered)

    return choose
