"""dynamic_update_slice: a tensor with a part of it replaced, from where a tensor says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.embedding import MOVED
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant, both_forms, prepare_moved
from tinyrt.ops.shared.walks import MAX_RANK


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Up to six dimensions, a part of them, and where it begins, int32 -> as the first."""
    del attrs
    x, part = operand(inputs, 0, "input"), operand(inputs, 1, "the part")
    begin, rank = operand(inputs, 2, "where it begins"), len(x.shape)
    if x.dtype not in MOVED or not 1 <= rank <= MAX_RANK:
        raise ShapeError(
            f"input is {x}", expected="float32, int8, int16 or int32, of 1 to 6 dimensions"
        )
    fits = len(part.shape) == rank and all(map(int.__le__, part.shape, x.shape))
    if part.dtype is not x.dtype or not fits:
        raise ShapeError(f"the part is {part}", expected=f"at most {x}")
    if begin != TensorType(DType.INT32, (rank,)):
        raise ShapeError(f"it begins at {begin}", expected=f"s32[{rank}]")
    return (x,)


def ref(attrs: NoAttrs, x: Array, part: Array, begin: Array) -> Array:
    """A copy of ``x`` with the part; where it would reach outside, at the nearest place inside."""
    del attrs
    first = np.clip(begin, 0, np.subtract(x.shape, part.shape))
    y = x.copy()
    y[tuple(slice(b, b + n) for b, n in zip(first, part.shape, strict=True))] = part
    return y


def prepare(node: BoundNode) -> NoAttrs:
    """No constants; input, part and output share dtype, scale and zero point."""
    return prepare_moved(node, (0, 1))


DYNAMIC_UPDATE_SLICE = OpSpec(
    name="dynamic_update_slice",
    attrs=NoAttrs,
    arity=(3, 3),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    forms=both_forms(prepare, ref),
)
