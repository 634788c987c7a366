"""gather_nd: parts of a tensor, whose places along its first dimensions are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.embedding import MOVED
from tinyrt.ops.shared.move import picking_vjp
from tinyrt.ops.shared.places import inside
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms, prepare_moved
from tinyrt.ops.shared.walks import MAX_RANK


@dataclass(frozen=True, slots=True)
class GatherNdAttrs:
    """How places are counted.

    Attributes:
        from_end: whether numbers below 0 count from their dimension's end, as ONNX has it. Files
            have arithmetic in front of the op instead.

    """

    from_end: bool = False


def infer(attrs: GatherNdAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
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


def ref(attrs: GatherNdAttrs, x: Array, places: Array) -> Array:
    """The parts; a number outside its dimension is the nearest inside (LiteRT reports an error)."""
    sizes = np.asarray(x.shape[: places.shape[-1]])
    return np.asarray(x[tuple(np.moveaxis(inside(places, sizes, attrs.from_end), -1, 0))])


def prepare(node: BoundNode) -> GatherNdAttrs:
    """The attributes; input and parts share dtype, scale and zero point."""
    prepare_moved(node, (0,))
    return node.attrs_as(GatherNdAttrs)


GATHER_ND = OpSpec(
    name="gather_nd",
    attrs=GatherNdAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    vjp=partial(picking_vjp, ref),
    forms=both_forms(prepare, ref),
)
