"""cast: conversion to another element type, in float graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, OpSpec, Quant
from tinyrt.ops.shared.traits import Traits

CASTABLE = (
    *(DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64),
    *(DType.UINT8, DType.UINT32, DType.BOOL),
)
"""Integers without a scale, such as the bytes of an image, are numbers like any other here."""


@dataclass(frozen=True, slots=True)
class CastAttrs:
    """TFLite's CastOptions: the output's element type."""

    dtype: DType = DType.FLOAT32


def infer(attrs: CastAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Any shape -> the same."""
    x = operand(inputs, 0, "input")
    if x.dtype not in CASTABLE or attrs.dtype not in CASTABLE:
        allowed = ", ".join(d.short for d in CASTABLE)
        raise ShapeError(f"a cast of {x} to {attrs.dtype.short}", expected=allowed)
    return (TensorType(attrs.dtype, x.shape),)


def ref_f32(attrs: CastAttrs, x: Array) -> Array:
    """The values in the new type: floats cut towards zero, and the low bits of integers.

    Every number but 0 is true. Floats beyond an integer type's limits give the limit, and NaN gives
    0, as on processors that saturate. C leaves these cases undefined.
    """
    dtype = attrs.dtype.numpy
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    # The greatest integer may have no exact float. One more has, so this comparison is exact.
    high = x >= float(int(limits.max) + 1)
    fits = np.where(high | (x < float(limits.min)) | np.isnan(x), 0, x).astype(dtype)
    return np.where(high, limits.max, np.where(x < float(limits.min), limits.min, fits))


CAST = OpSpec(
    name="cast",
    attrs=CastAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.FLOAT_ONLY,
    ref_f32=ref_f32,
    traits=Traits(
        elementwise=True,
        truth=True,
        plain_integers=True,
        not_in_integers="what it makes of truth values and places is the same in every model",
    ),
)
