"""Which integers without a scale may need 64 bits."""

from __future__ import annotations

from collections.abc import Mapping

from tinyrt.convert.values.elementwise import of_value
from tinyrt.convert.values.interval import Bounds
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops import ops_where
from tinyrt.ops.shared.spec import limits_of

WIDE, SHORT = DType.INT64, DType.INT32

ARITHMETIC = ops_where(lambda spec: spec.traits.elementwise and not spec.traits.truth)
"""Ops that compute with integers: devices do so in 32 bits alone."""


def fits(value: Value, bounds: Mapping[str, Bounds]) -> bool:
    """Whether 32 bits hold all that a tensor's integers may be."""
    low, high = limits_of(SHORT)
    found = of_value(value, bounds)
    return bool((found.low >= low).all() and (found.high <= high).all())


def beyond(node: BoundNode, bounds: Mapping[str, Bounds]) -> Value | None:
    """The first tensor of a node whose integers may need 64 bits; None where there is none."""
    values = (*node.inputs, *node.outputs)
    wide = (v for v in values if v is not None and v.dtype is WIDE)
    return next((v for v in wide if not fits(v, bounds)), None)


def reach(value: Value, bounds: Mapping[str, Bounds]) -> str:
    """What a tensor's elements may be, as ``from -3 to 8,589,934,592``."""
    found = of_value(value, bounds)
    return f"from {int(found.low.min()):,} to {int(found.high.max()):,}"
