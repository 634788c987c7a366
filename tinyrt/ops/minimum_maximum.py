"""minimum and maximum: element-wise, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.floatmath.function import constant
from tinyrt.ir import TensorType
from tinyrt.ops.shared.shapes import infer_binary, sum_to
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant, both_forms, prepare_moved
from tinyrt.ops.shared.traits import Traits


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> their broadcast shape."""
    del attrs
    return infer_binary(inputs)


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of both inputs: ``grad`` goes to the chosen input; equal ones share it."""
    del attrs
    a, b = inputs
    one, other = constant(a), constant(b)
    first = np.where(one == other, 0.5, constant(output) == one).astype(one.dtype)
    return sum_to(grad * first, a.shape), sum_to(grad * (1 - first), b.shape)


prepare = partial(prepare_moved, inputs=(0, 1))


def min_ref(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``min(a, b)``, of real or raw values."""
    del attrs
    return np.asarray(np.minimum(a, b))


def max_ref(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``max(a, b)``, of real or raw values."""
    del attrs
    return np.asarray(np.maximum(a, b))


MINIMUM = OpSpec(
    name="minimum",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=min_ref,
    vjp=vjp,
    forms=both_forms(prepare, min_ref),
    traits=Traits(elementwise=True, channelwise=True),
)

MAXIMUM = OpSpec(
    name="maximum",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=max_ref,
    vjp=vjp,
    forms=both_forms(prepare, max_ref),
    traits=Traits(elementwise=True, channelwise=True),
)
