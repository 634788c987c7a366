"""minimum and maximum: element-wise, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.emit import broadcast_fields
from tinyrt.ops.function import constant
from tinyrt.ops.shapes import infer_binary, sum_to
from tinyrt.ops.spec import Array, CWriter, NoAttrs, OpSpec, Quant, require_s8, require_same_q
from tinyrt.ops.sweep import elementwise


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> their broadcast shape."""
    del attrs
    return infer_binary(inputs)


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of both inputs: each output's goes to the input chosen, the first if equal."""
    del attrs
    a, b = inputs
    first = constant(output) == constant(a)
    return sum_to(grad * first, a.shape), sum_to(grad * ~first, b.shape)


def prepare_s8(node: BoundNode) -> NoAttrs:
    """Inputs and output share scale and zero point, so raw values are compared."""
    values = (node.input(0), node.input(1), node.output)
    require_s8(*values)
    require_same_q(node, *values)
    return NoAttrs()


def min_f32(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``min(a, b)``."""
    del attrs
    return np.asarray(np.minimum(a, b))


def max_f32(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``max(a, b)``."""
    del attrs
    return np.asarray(np.maximum(a, b))


def min_s8(p: NoAttrs, a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray[np.int8]:
    """``min(a, b)`` of raw values."""
    return min_f32(p, a, b)


def max_s8(p: NoAttrs, a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray[np.int8]:
    """``max(a, b)`` of raw values."""
    return max_f32(p, a, b)


def _emit_c(kernel: str, node: BoundNode, p: NoAttrs, c: CWriter) -> None:
    """Write the call of ``tinyrt_minimum_s8`` or ``tinyrt_maximum_s8``."""
    del p
    shape = c.params("tinyrt_broadcast", broadcast_fields(node))
    c.call(kernel, shape, *(c.pointer(v) for v in (node.input(0), node.input(1), node.output)))


MINIMUM = OpSpec(
    name="minimum",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    sweep=elementwise,
    ref_f32=min_f32,
    vjp=vjp,
    prepare_s8=prepare_s8,
    ref_s8=min_s8,
    emit_c=partial(_emit_c, "tinyrt_minimum_s8"),
)

MAXIMUM = OpSpec(
    name="maximum",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    sweep=elementwise,
    ref_f32=max_f32,
    vjp=vjp,
    prepare_s8=prepare_s8,
    ref_s8=max_s8,
    emit_c=partial(_emit_c, "tinyrt_maximum_s8"),
)
