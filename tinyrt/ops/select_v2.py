"""select_v2: a truth value chooses each element from one of two tensors; all three broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Function, Gradient
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import broadcast, infer_binary, operand, sum_to
from tinyrt.ops.shared.spec import (
    Array,
    NoAttrs,
    OpSpec,
    Quant,
    both_forms,
    no_rows,
    prepare_moved,
)
from tinyrt.ops.shared.traits import Traits


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Truth values and two inputs of one dtype -> their common broadcast shape."""
    del attrs
    condition = operand(inputs, 0, "the condition")
    if condition.dtype is not DType.BOOL:
        raise ShapeError(f"the condition is {condition}", expected="bool")
    (y,) = infer_binary(inputs[1:])
    return (TensorType(y.dtype, broadcast(condition.shape, y.shape)),)


def ref(attrs: NoAttrs, condition: Array, a: Array, b: Array) -> Array:
    """``condition ? a : b``, of real or raw values."""
    del attrs
    return np.asarray(np.where(condition, a, b))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of both choices, each where it is chosen; the condition has none.

    A choice, not a product with 0, so that what is not chosen stays out where it is not finite.
    """
    del output
    condition, a, b = inputs
    nothing = np.zeros((), np.float32)
    return (
        None,
        lambda: sum_to(_SELECT(attrs, condition, grad, nothing), a.shape),
        lambda: sum_to(_SELECT(attrs, condition, nothing, grad), b.shape),
    )


_SELECT = Function("select_v2", ref, vjp)

prepare = partial(prepare_moved, inputs=(1, 2))


SELECT_V2 = OpSpec(
    name="select_v2",
    attrs=NoAttrs,
    arity=(3, 3),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    vjp=vjp,
    forms=both_forms(prepare, ref),
    rows=no_rows,
    traits=Traits(elementwise=True, truth=True),
)
