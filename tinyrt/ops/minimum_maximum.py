"""minimum and maximum: element-wise, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.emit import broadcast_fields
from tinyrt.ops.emit_float import zip_of
from tinyrt.ops.function import constant
from tinyrt.ops.shapes import infer_binary, sum_to
from tinyrt.ops.spec import (
    Array,
    CWriter,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    prepare_moved,
)
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


prepare = partial(prepare_moved, inputs=(0, 1))


def min_ref(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``min(a, b)``, of real or raw values."""
    del attrs
    return np.asarray(np.minimum(a, b))


def max_ref(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``max(a, b)``, of real or raw values."""
    del attrs
    return np.asarray(np.maximum(a, b))


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
    ref_f32=min_ref,
    vjp=vjp,
    prepare_s8=prepare,
    ref_s8=min_ref,
    emit_c=partial(_emit_c, "tinyrt_minimum_s8"),
    int16x8=IntegerForm(
        prepare, min_ref, sweep=elementwise, emit_c=partial(_emit_c, "tinyrt_minimum_s16")
    ),
    emit_f32=zip_of("tinyrt_minf"),
)

MAXIMUM = OpSpec(
    name="maximum",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    sweep=elementwise,
    ref_f32=max_ref,
    vjp=vjp,
    prepare_s8=prepare,
    ref_s8=max_ref,
    emit_c=partial(_emit_c, "tinyrt_maximum_s8"),
    int16x8=IntegerForm(
        prepare, max_ref, sweep=elementwise, emit_c=partial(_emit_c, "tinyrt_maximum_s16")
    ),
    emit_f32=zip_of("tinyrt_maxf"),
)
