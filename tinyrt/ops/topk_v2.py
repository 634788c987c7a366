"""topk_v2: places of the largest elements along the last dimension, the largest one first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms, qparams

ORDERED = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32)
"""Element types that it takes."""


@dataclass(frozen=True, slots=True)
class TopkV2Attrs:
    """TFLite's number of elements that are sought, which the file has as a constant input."""

    k: int


def infer(attrs: TopkV2Attrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., d) of float32, int8, int16 or int32 -> int32 (..., k); the values are an embedding."""
    x = operand(inputs, 0, "input")
    if x.dtype not in ORDERED or not x.shape:
        raise ShapeError(f"input is {x}", expected="rows of float32, int8, int16 or int32")
    if not 1 <= attrs.k <= x.shape[-1]:
        raise ShapeError(f"the {attrs.k} largest of {x}", expected=f"1 to {x.shape[-1]}")
    return (TensorType(DType.INT32, (*x.shape[:-1], attrs.k)),)


def ref(attrs: TopkV2Attrs, x: Array) -> Array:
    """The places; of equal elements the first one comes first, what is no number comes last."""
    # A stable order of the least first, from back to front, is one of the greatest first.
    turned = x[..., ::-1]
    least_first = np.lexsort((turned, ~np.isnan(turned)))
    places = x.shape[-1] - 1 - least_first[..., ::-1]
    return np.asarray(places[..., : attrs.k], np.int32)


def prepare(node: BoundNode) -> TopkV2Attrs:
    """The attributes: raw values are compared, because a scale is always positive."""
    qparams(node.input(0))
    return node.attrs_as(TopkV2Attrs)


TOPK_V2 = OpSpec(
    name="topk_v2",
    attrs=TopkV2Attrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.INPUTS_ONLY,
    ref_f32=ref,
    forms=both_forms(prepare, ref),
)
