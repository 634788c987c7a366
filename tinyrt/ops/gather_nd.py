"""gather_nd: parts of a tensor, whose places along its first dimensions are computed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.embedding import MOVED
from tinyrt.ops.shared.move import picking_vjp
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant, both_forms, prepare_moved
from tinyrt.ops.shared.walks import MAX_RANK


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(*indexed, ...), places int32 (*picked, number of indexed) -> (*picked, ...)."""
    del attrs
    x, places = operand(inputs, 0, "input"), operand(inputs, 1, "places")
    if x.dtype not in MOVED:
        raise ShapeError(f"input is {x}", expected="float32, int8, int16 or int32")
    depth = places.shape[-1] if places.shape else 0
    if places.dtype is not DType.INT32 or not 1 <= depth <= min(len(x.shape), MAX_RANK):
        raise ShapeError(
            f"places are {places} in {x}", expected="int32, 1 to 6 numbers, one for each dimension"
        )
    return (TensorType(x.dtype, (*places.shape[:-1], *x.shape[places.shape[-1] :])),)


def ref(attrs: NoAttrs, x: Array, places: Array) -> Array:
    """The parts; a number outside its dimension is the nearest inside (LiteRT reports an error)."""
    del attrs
    sizes = np.asarray(x.shape[: places.shape[-1]])
    return np.asarray(x[tuple(np.moveaxis(np.clip(places, 0, sizes - 1), -1, 0))])


def prepare(node: BoundNode) -> NoAttrs:
    """No constants; input and parts share dtype, scale and zero point."""
    return prepare_moved(node, (0,))


GATHER_ND = OpSpec(
    name="gather_nd",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    vjp=partial(picking_vjp, ref),
    forms=both_forms(prepare, ref),
)
