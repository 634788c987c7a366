"""logical_and, logical_or and logical_not of truth values, which are never quantised."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import no_gradient
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import broadcast, operand
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant
from tinyrt.ops.shared.traits import Traits


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """One or two inputs of truth values -> their broadcast shape."""
    del attrs
    types = [operand(inputs, i, f"input {i}") for i in range(max(len(inputs), 1))]
    if any(t.dtype is not DType.BOOL for t in types):
        raise ShapeError(f"inputs are {', '.join(map(str, types))}", expected="bool")
    shape = types[0].shape
    for other in types[1:]:
        shape = broadcast(shape, other.shape)
    return (TensorType(DType.BOOL, shape),)


def _ref(function: Any, attrs: NoAttrs, *inputs: Array) -> Array:
    del attrs
    return np.asarray(function(*inputs))


LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT = (
    OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(arity, arity),
        infer=infer,
        quant=Quant.FLOAT_ONLY,
        vjp=no_gradient,
        ref_f32=partial(_ref, getattr(np, name)),
        traits=Traits(
            elementwise=True,
            truth=True,
            not_in_integers="truth values have no scale: int8 models have it as it is",
        ),
    )
    for name, arity in (("logical_and", 2), ("logical_or", 2), ("logical_not", 1))
)
