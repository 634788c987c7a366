"""Ops whose output is one of their inputs, by what the inputs may be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinyrt.convert.values.elementwise import SCANNED_ALONE, answers_of, of_value
from tinyrt.convert.values.interval import FLOATS, Bounds
from tinyrt.ir import BoundNode, Value
from tinyrt.ops import OPS, ops_where
from tinyrt.ops.shared.activation import clamp_of

CLAMPS = ops_where(lambda spec: bool(spec.traits.activation))

ONE_INPUT = ops_where(lambda spec: spec.traits.elementwise and spec.arity == (1, 1))


def unchanged(node: BoundNode, bounds: Mapping[str, Bounds]) -> str | None:
    """The name of the activation that the node's output always equals; None where there is none.

    Args:
        node: the op.
        bounds: of all activations.

    """
    chosen = _chosen(node, bounds)
    if chosen is None:
        return None
    y = node.output
    alike = (chosen.shape, chosen.dtype, chosen.q) == (y.shape, y.dtype, y.q)
    return chosen.name if alike and not chosen.is_constant else None


def _chosen(node: BoundNode, bounds: Mapping[str, Bounds]) -> Value | None:
    """The input that the op hands on, if it does."""
    if node.op in ONE_INPUT:
        x = node.input(0)
        return x if not x.is_constant and _hands_on(node, bounds[x.name]) else None
    if node.op == "select_v2":
        truth = of_value(node.input(0), bounds)
        return node.input(1) if truth.low.all() else None if truth.high.any() else node.input(2)
    if node.op in ("minimum", "maximum"):
        a, b = (of_value(node.input(i), bounds) for i in (0, 1))
        first_is_greater, second_is_greater = (a.low >= b.high).all(), (b.low >= a.high).all()
        if node.op == "minimum":
            first_is_greater, second_is_greater = second_is_greater, first_is_greater
        return node.input(0) if first_is_greater else node.input(1) if second_is_greater else None
    return None


def _hands_on(node: BoundNode, x: Bounds) -> bool:
    """Whether a function of one number gives back each number that comes."""
    value = node.input(0)
    if value.dtype in SCANNED_ALONE and value.dtype is node.output.dtype:
        answers, least = answers_of(node, 0, [x])
        inside = slice(int(x.low.min()) - least, int(x.high.max()) - least + 1)
        numbers = np.arange(least, least + len(answers))[:, None]
        return bool((answers == numbers)[inside].all())
    if value.dtype in FLOATS and OPS[node.op].traits.keeps_positive:
        return bool((x.low >= 0).all())
    if value.dtype in FLOATS and node.op in CLAMPS:
        low, high = clamp_of(OPS[node.op].traits.activation)
        return bool((x.low >= low).all() and (x.high <= high).all())
    return False
