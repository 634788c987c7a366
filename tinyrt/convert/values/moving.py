"""Bounds behind ops that grow with each element that they read, such as moves, pools and means."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinyrt.convert.values.interval import Bounds
from tinyrt.fixedpoint import INT32_MAX
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS, ops_where
from tinyrt.ops.mean import MeanS8
from tinyrt.ops.shared.evaluate import reference_kernel
from tinyrt.ops.shared.spec import is_integer

MEANS = frozenset({"mean", "sum"})
"""Ops that sum and requantise."""

INCREASING = (
    ops_where(lambda spec: spec.traits.selects)
    | MEANS
    | {"average_pool2d", "reduce_max", "reduce_min", "resize_bilinear"}
)
"""Ops that give no less where an element that they read is greater, of one dtype throughout."""

MOST_ELEMENTS = 1 << 24
"""Elements of a tensor beyond which it is not worth the time and memory to move them."""


def increasing(node: BoundNode, known: Mapping[str, Bounds]) -> Bounds | None:
    """What the op makes of the least elements, and of the greatest.

    None where sums overflow, or where tensors are too large.
    """
    values = [v for v in (*node.inputs, node.output) if v is not None]
    overflows = node.op in MEANS and is_integer(node) and not _fits(node, known)
    if overflows or max(v.size for v in values) > MOST_ELEMENTS:
        return None
    pairs = [known[v.name].ends(v) if v.data is None else (v.data, v.data) for v in values[:-1]]
    kernel = reference_kernel(node)
    with np.errstate(all="ignore"):
        low, high = (kernel(*ends) for ends in zip(*pairs, strict=True))
    return Bounds(Bounds.around(low).low, Bounds.around(high).high)


def _fits(node: BoundNode, known: Mapping[str, Bounds]) -> bool:
    """Whether no sum leaves the 32 bits in which it is requantised."""
    p = OPS[node.op].prepared(node)
    assert isinstance(p, MeanS8)
    x = known[node.input(0).name]
    reach = max(abs(int(x.low.min()) - p.x_zp), abs(int(x.high.max()) - p.x_zp))
    return reach * p.count << max(p.shift, 0) <= INT32_MAX
