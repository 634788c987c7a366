"""slice_at: a part of a tensor, of known size, that begins where a tensor says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.embedding import MOVED
from tinyrt.ops.shared.move import picking_vjp
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms, prepare_moved
from tinyrt.ops.shared.walks import MAX_RANK


@dataclass(frozen=True, slots=True)
class SliceAtAttrs:
    """The size of TFLite's SLICE, which the file has as a constant input."""

    size: tuple[int, ...]


def infer(attrs: SliceAtAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Any shape of up to six dimensions, and where each begins, int32 -> ``size``."""
    x, begin = operand(inputs, 0, "input"), operand(inputs, 1, "where it begins")
    rank = len(x.shape)
    if x.dtype not in (*MOVED, DType.BOOL) or not 1 <= rank <= MAX_RANK:
        raise ShapeError(
            f"input is {x}", expected="float32, int8, int16, int32 or bool, of 1 to 6 dimensions"
        )
    if begin != TensorType(DType.INT32, (rank,)):
        raise ShapeError(f"it begins at {begin}", expected=f"s32[{rank}]")
    fits = all(1 <= n <= d for n, d in zip(attrs.size, x.shape, strict=False))
    if len(attrs.size) != rank or not fits:
        raise ShapeError(f"{attrs.size} elements of {x}", expected=f"up to {x.shape}, at least 1")
    return (TensorType(x.dtype, attrs.size),)


def ref(attrs: SliceAtAttrs, x: Array, begin: Array) -> Array:
    """The part; where it would reach outside, the nearest one inside (LiteRT reports an error)."""
    first = np.clip(begin, 0, np.subtract(x.shape, attrs.size))
    return x[tuple(slice(b, b + n) for b, n in zip(first, attrs.size, strict=True))]


def prepare(node: BoundNode) -> SliceAtAttrs:
    """The attributes; input and part share dtype, scale and zero point."""
    prepare_moved(node, (0,))
    return node.attrs_as(SliceAtAttrs)


SLICE_AT = OpSpec(
    name="slice_at",
    attrs=SliceAtAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    vjp=partial(picking_vjp, ref),
    forms=both_forms(prepare, ref),
)
