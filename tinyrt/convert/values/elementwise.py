"""Bounds behind element-wise ops, whose channels follow from the inputs' channels one by one."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from tinyrt.convert.values.interval import FLOATS, Array, Bounds, channels_of
from tinyrt.fixedpoint import INT32_MAX
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops import OPS, ops_where
from tinyrt.ops.mul import MulS8
from tinyrt.ops.shared.evaluate import reference_kernel
from tinyrt.ops.shared.spec import is_integer, limits_of

ELEMENTWISE = ops_where(lambda spec: spec.traits.elementwise)

SCANNED = (DType.INT8, DType.UINT8, DType.BOOL)
"""Dtypes of so few values that each one is tried."""

SCANNED_ALONE = (*SCANNED, DType.INT16)
"""Those of functions of one number, which are the same in all channels."""

ORDERED = frozenset({"less", "less_equal", "greater", "greater_equal"})
"""Comparisons that follow the order; a float that is no number has none."""

MONOTONIC = (
    ops_where(lambda spec: bool(spec.traits.activation))
    | ORDERED
    | {"relu_0_to_1", "add", "sub", "mul", "minimum", "maximum", "logical_and", "logical_or"}
    | {"cast", "div", "floor_div", "select_v2"}
)
"""Ops that only grow, or only fall, with each input while the others stay: their extremes lie
where all inputs have theirs. Some do so under conditions."""

WRAPPING = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
"""Ops whose results start anew beyond the limits of integers without a scale."""

QUOTIENTS = frozenset({"div", "floor_div"})

WHOLE = (DType.INT32, DType.INT64)
"""Dtypes of places and sizes."""


def elementwise(node: BoundNode, known: Mapping[str, Bounds]) -> Bounds | None:
    """The bounds of the output; None where nothing is known about the op."""
    inputs = node.operands
    ends = [of_value(v, known) for v in inputs]
    free = [i for i, v in enumerate(inputs) if v.data is None]
    if len(free) == 1 and _is_scanned(node, free[0], ends):
        return _scanned(node, free[0], ends)
    if node.op == "floor_mod" and node.output.dtype in WHOLE and (ends[1].low > 0).all():
        least, most = np.zeros(_width(node), np.int64), ends[1].high - 1
        return Bounds(least, np.broadcast_to(most, _width(node)))
    if _is_monotonic(node, ends):
        corners = product(*({id(end): end for end in (e.low, e.high)}.values() for e in ends))
        return Bounds.around(*(_computed(node, corner) for corner in corners))
    # Whatever the op does, equal inputs give equal outputs.
    same = np.logical_and.reduce([np.broadcast_to(e.constant, _width(node)) for e in ends])
    if not same.any():
        return None
    point = Bounds.around(_computed(node, [e.low for e in ends]))
    whole = Bounds.whole(node.output)
    return Bounds(np.where(same, point.low, whole.low), np.where(same, point.high, whole.high))


def _is_scanned(node: BoundNode, free: int, ends: Sequence[Bounds]) -> bool:
    """Whether each value of the one activation is tried: there are few, for few channels."""
    dtype = node.input(free).dtype
    others = [e for i, e in enumerate(ends) if i != free]
    if not others:
        return dtype in SCANNED_ALONE
    return dtype in SCANNED and all(e.constant.all() for e in others)


def of_value(value: Value, known: Mapping[str, Bounds]) -> Bounds:
    """The bounds of a constant or an activation."""
    return known[value.name] if value.data is None else Bounds.around(value.data)


def _width(node: BoundNode) -> tuple[int]:
    return (channels_of(node.output.shape),)


def _computed(node: BoundNode, arrays: Sequence[Array]) -> Array:
    """The op's result for one number in each channel of each input."""
    kernel = reference_kernel(node)
    rows = [
        a.astype(v.dtype.numpy) for a, v in zip(arrays, node.inputs, strict=True) if v is not None
    ]
    with np.errstate(all="ignore"):
        y = kernel(*rows)
    return np.broadcast_to(y, (*y.shape[:-1], *_width(node)))


def _scanned(node: BoundNode, free: int, ends: Sequence[Bounds]) -> Bounds:
    """The exact bounds of an op of one activation: all its values are tried in every channel."""
    answers, least = answers_of(node, free, ends)
    x = ends[free]
    low, high = np.broadcast_arrays(x.low - least, x.high - least, np.empty(_width(node)))[:2]
    pairs, which = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    result = Bounds.whole(node.output)
    lows, highs = result.low.copy(), result.high.copy()
    for i, (first, last) in enumerate(pairs.T):
        channels = np.flatnonzero(which.reshape(-1) == i)
        # A function of one number has the same answers in all channels.
        part = answers[first : last + 1, channels if len(ends) > 1 else channels[:1]]
        lows[channels], highs[channels] = part.min(axis=0), part.max(axis=0)
    return Bounds(lows, highs)


def answers_of(node: BoundNode, free: int, ends: Sequence[Bounds]) -> tuple[Array, int]:
    """The outputs (values, channels) for each value of one input, and the least such value.

    The other inputs have the same element throughout each channel.
    """
    dtype = node.input(free).dtype
    least, most = (0, 1) if dtype is DType.BOOL else limits_of(dtype)
    rows = [e.low[None] for e in ends]
    rows[free] = np.arange(least, most + 1)[:, None]
    return _computed(node, rows), least


def _is_monotonic(node: BoundNode, ends: Sequence[Bounds]) -> bool:
    """Whether the extremes lie at the corners, for all that the inputs may be."""
    floats = node.input(0).dtype in FLOATS
    if node.op not in MONOTONIC or (floats and node.op in ORDERED):
        return False
    if node.op in WRAPPING and node.output.dtype in WHOLE:
        return _stays_whole(node, ends)
    if node.op in QUOTIENTS:
        return node.output.dtype in WHOLE and bool((ends[1].low > 0).all())
    if node.op == "cast":
        return _keeps_order(node, ends[0])
    if node.op == "mul" and is_integer(node):
        p = OPS["mul"].prepared(node)
        assert isinstance(p, MulS8)
        a, b = (
            max(abs(int(e.low.min()) - zp), abs(int(e.high.max()) - zp))
            for e, zp in zip(ends, (p.a_zp, p.b_zp), strict=True)
        )
        return a * b << max(p.shift, 0) <= INT32_MAX
    return True


def _stays_whole(node: BoundNode, ends: Sequence[Bounds]) -> bool:
    """Whether no result of integers without a scale starts anew."""
    sides = [(int(e.low.min()), int(e.high.max())) for e in ends]
    results = [WRAPPING[node.op](a, b) for a, b in product(*sides)]
    low, high = limits_of(node.output.dtype)
    return bool(low <= min(results) and max(results) <= high)


def _keeps_order(node: BoundNode, x: Bounds) -> bool:
    """Whether a cast gives no less where a number is greater: integers that do not fit wrap."""
    given, made = node.input(0).dtype, node.output.dtype
    if made is DType.BOOL:
        return False
    if made in FLOATS or given in FLOATS:
        return True
    low, high = limits_of(made)
    return low <= int(x.low.min()) and int(x.high.max()) <= high
