"""The choice of a C kernel, made once per node. Planner, checker, cost model and writer read it."""

from __future__ import annotations

from functools import partial

from tinyrt.backends.c import (
    activations,
    comparisons,
    conversions,
    convolutions,
    detection,
    joins,
    matmul,
    moves,
    normalise,
    pools,
    products,
    recurrent,
    reductions,
    resize,
    signal,
    sums,
    tables,
)
from tinyrt.backends.c.chooser import Chooser, Choosers
from tinyrt.backends.c.kernel import Kernel, Target
from tinyrt.errors import TinyrtError, UnsupportedError
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form, form_of
from tinyrt.ops.shared.unsupported import NOT_ON_DEVICES

_FAMILIES: tuple[Choosers, ...] = (
    activations.KERNELS,
    comparisons.KERNELS,
    conversions.KERNELS,
    convolutions.KERNELS,
    detection.KERNELS,
    joins.KERNELS,
    matmul.KERNELS,
    moves.KERNELS,
    normalise.KERNELS,
    pools.KERNELS,
    products.KERNELS,
    recurrent.KERNELS,
    reductions.KERNELS,
    resize.KERNELS,
    signal.KERNELS,
    sums.KERNELS,
    tables.KERNELS,
)

KERNELS: dict[str, dict[Form, Chooser]] = {
    op: {form: chooser for family in _FAMILIES for form, chooser in family.get(op, {}).items()}
    for op in sorted({op for family in _FAMILIES for op in family})
}
"""Op -> form -> the function that chooses its C kernel."""


def choose(node: BoundNode, target: Target) -> Kernel:
    """The C kernel of a node, chosen once.

    Raises:
        UnsupportedError: there is no kernel for the node's tensors.
        VerifyError: quantisation parameters break the op's rules.

    """
    kernel = find(node, target)
    if kernel is None:
        raise _missing(node)
    return kernel


def find(node: BoundNode, target: Target) -> Kernel | None:
    """As ``choose``; None where there is no kernel for the node's tensors."""
    return node.noted(target, partial(_find, node, target))


def _find(node: BoundNode, target: Target) -> Kernel | None:
    chooser = KERNELS.get(node.op, {}).get(form_of(node))
    return None if chooser is None else chooser(node, target)


def _missing(node: BoundNode) -> TinyrtError:
    form = form_of(node)
    if form is not Form.FLOAT:
        OPS[node.op].form(node)  # raises where there is no such form on the host either
    having = sorted(op for op, choosers in KERNELS.items() if form in choosers)
    return UnsupportedError(
        f"{node.op} has no C kernel for {form} tensors",
        tensor=node.output.describe(),
        expected=", ".join(having) or None,
        hint=NOT_ON_DEVICES.get(
            node.op, "replace the op in the model, or run the model on the host: tinyrt run"
        ),
    )
