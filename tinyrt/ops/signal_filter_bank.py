"""signal_energy, signal_filter_bank and what makes features of its channels: roots, logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.signal import INT32_MAX, SIGNAL, require_within, tensor
from tinyrt.ops.shared.spec import NoAttrs, OpSpec, Quant

U16_MAX, U32_MAX = 2**16 - 1, 2**32 - 1

SEGMENT_BITS = 7
"""The logarithm's table has two to the power of so many segments."""

ONE = 1 << 16
"""1 as the logarithm counts."""

LN2 = round(math.log(2) * ONE)
"""The natural logarithm of 2."""


@dataclass(frozen=True, slots=True)
class SignalEnergyAttrs:
    """TFLM's options of SignalEnergy: which frequencies, from ``start_index`` to before the end."""

    end_index: int
    start_index: int = 0


def infer_energy(
    attrs: SignalEnergyAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """Spectrum int16 (2n,), real and imaginary parts in turn -> uint32 (n,)."""
    x = tensor(inputs, 0, "spectrum", DType.INT16, 1)
    count, odd = divmod(x.shape[0], 2)
    if odd:
        raise ShapeError(f"spectrum is {x}", expected="pairs of a real and an imaginary part")
    require_within(attrs.end_index, 0, count, "end_index")
    require_within(attrs.start_index, 0, attrs.end_index, "start_index")
    return (TensorType(DType.UINT32, (count,)),)


def ref_energy(attrs: SignalEnergyAttrs, x: NDArray[np.int16]) -> NDArray[np.uint32]:
    """``real**2 + imaginary**2``; 0 beyond the range, where TFLM leaves what was there."""
    squares = x.reshape(-1, 2).astype(np.int64) ** 2
    y: NDArray[np.uint32] = squares.sum(axis=1).astype(np.uint32)
    y[: attrs.start_index] = 0
    y[attrs.end_index :] = 0
    return y


@dataclass(frozen=True, slots=True)
class SignalFilterBankAttrs:
    """Which frequencies and weights each band takes: TFLM's constants of SignalFilterBank.

    There is a band more than channels. A channel is the sum of what its own band has by its
    weights, and of what the band before has by its unweights.

    Attributes:
        frequency_starts: each band's first frequency.
        weight_starts: its first weight and unweight.
        widths: how many of each it takes.

    """

    frequency_starts: tuple[int, ...]
    weight_starts: tuple[int, ...]
    widths: tuple[int, ...]


def infer_filter_bank(
    attrs: SignalFilterBankAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """uint32 (n,), weights and unweights int16 (k,) -> uint64 (channels,)."""
    x = tensor(inputs, 0, "input", DType.UINT32, 1)
    weights = tensor(inputs, 1, "weights", DType.INT16, 1)
    unweights = tensor(inputs, 2, "unweights", DType.INT16, 1)
    bands = len(attrs.widths)
    if bands < 2 or {len(attrs.frequency_starts), len(attrs.weight_starts)} != {bands}:
        raise ShapeError(
            f"{len(attrs.frequency_starts)} first frequencies, {len(attrs.weight_starts)} first "
            f"weights, {bands} widths",
            expected="one of each for a band more than there are channels",
        )
    held = min(weights.shape[0], unweights.shape[0])
    for i, (frequency, weight, width) in enumerate(
        zip(attrs.frequency_starts, attrs.weight_starts, attrs.widths, strict=True)
    ):
        inside = width >= 0 <= min(frequency, weight)
        if not inside or frequency + width > x.shape[0] or weight + width > held:
            raise ShapeError(
                f"band {i} takes {width} frequencies from {frequency}, by weights from {weight}",
                expected=f"frequencies inside of {x.shape[0]}, and weights inside of {held}",
            )
    return (TensorType(DType.UINT64, (bands - 1,)),)


def ref_filter_bank(
    attrs: SignalFilterBankAttrs,
    x: NDArray[np.uint32],
    weights: NDArray[np.int16],
    unweights: NDArray[np.int16],
) -> NDArray[np.uint64]:
    """Sums of products, modulo 2**64."""
    bands = list(zip(attrs.frequency_starts, attrs.weight_starts, attrs.widths, strict=True))
    up, down = (
        np.array([_sum(x[f : f + n], w[at : at + n]) for f, at, n in bands], np.uint64)
        for w in (weights, unweights)
    )
    return up[1:] + down[:-1]


def _sum(x: NDArray[np.uint32], weights: NDArray[np.int16]) -> np.uint64:
    products = weights.astype(np.int64).astype(np.uint64) * x.astype(np.uint64)
    return np.uint64(products.sum())


def infer_square_root(
    attrs: NoAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """uint64 (n,), how far to shift int32 () -> uint32 (n,)."""
    del attrs
    x = tensor(inputs, 0, "input", DType.UINT64, 1)
    tensor(inputs, 1, "scale_bits", DType.INT32, 0)
    return (TensorType(DType.UINT32, x.shape),)


def ref_square_root(
    attrs: NoAttrs, x: NDArray[np.uint64], scale_bits: NDArray[np.int32]
) -> NDArray[np.uint32]:
    """``round(sqrt(x)) >> scale_bits``; a shift is taken modulo 32, as on TFLM's host."""
    del attrs
    roots = np.array([_root(int(n)) for n in x], np.uint32)
    return roots >> np.uint32(int(scale_bits) & 31)


def _root(n: int) -> int:
    """The nearest root, of at most 16 bits where the number has 32, and else of 32."""
    root = math.isqrt(n)
    most = U16_MAX if n <= U32_MAX else U32_MAX
    return min(root + (n - root * root > root), most)


@dataclass(frozen=True, slots=True)
class SignalFilterBankLogAttrs:
    """TFLM's options of SignalFilterBankLog.

    Attributes:
        input_correction_bits: how far the inputs are shifted left first.
        output_scale: what a logarithm of 1 becomes.

    """

    input_correction_bits: int
    output_scale: int


def infer_log(
    attrs: SignalFilterBankLogAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """uint32 (n,) -> int16 (n,)."""
    require_within(attrs.input_correction_bits, 0, 31, "input_correction_bits")
    require_within(attrs.output_scale, 0, INT32_MAX, "output_scale")
    x = tensor(inputs, 0, "input", DType.UINT32, 1)
    return (TensorType(DType.INT16, x.shape),)


@cache
def log_table() -> NDArray[np.int64]:
    """``log2(1 + x) - x`` at the segments' ends, and a 0 behind them."""
    x = np.arange((1 << SEGMENT_BITS) + 1) / (1 << SEGMENT_BITS)
    table = np.rint(ONE * (np.log2(1 + x) - x)).astype(np.int64)
    return np.append(table, 0)


def ref_log(attrs: SignalFilterBankLogAttrs, x: NDArray[np.uint32]) -> NDArray[np.int16]:
    """``output_scale * ln(x << input_correction_bits)``, at most 32767; 0 of 0 and 1."""
    scaled = (x.astype(np.int64) << attrs.input_correction_bits) & U32_MAX
    whole = np.frexp(np.maximum(scaled, 1).astype(np.float64))[1].astype(np.int64) - 1
    above = scaled - (np.int64(1) << whole)
    fraction = np.where(whole < 16, above << np.maximum(16 - whole, 0), above >> (whole - 16) % 64)
    segment = fraction >> 16 - SEGMENT_BITS
    low, high = log_table()[segment], log_table()[segment + 1]
    between = (high - low) * (fraction - (segment << 16 - SEGMENT_BITS)) >> 16
    log2 = (whole << 16) + fraction + low + between
    natural = LN2 * log2 + ONE // 2 >> 16
    y = ((attrs.output_scale * natural + ONE // 2) & U32_MAX) >> 16
    return np.where(scaled > 1, np.minimum(y, np.iinfo(np.int16).max), 0).astype(np.int16)


SIGNAL_ENERGY = OpSpec(
    name="signal_energy",
    attrs=SignalEnergyAttrs,
    arity=(1, 1),
    infer=infer_energy,
    quant=Quant.PLAIN,
    ref_f32=ref_energy,
    traits=SIGNAL,
)
SIGNAL_FILTER_BANK = OpSpec(
    name="signal_filter_bank",
    attrs=SignalFilterBankAttrs,
    arity=(3, 3),
    infer=infer_filter_bank,
    quant=Quant.PLAIN,
    ref_f32=ref_filter_bank,
    traits=SIGNAL,
)
SIGNAL_FILTER_BANK_SQUARE_ROOT = OpSpec(
    name="signal_filter_bank_square_root",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer_square_root,
    quant=Quant.PLAIN,
    ref_f32=ref_square_root,
    traits=SIGNAL,
)
SIGNAL_FILTER_BANK_LOG = OpSpec(
    name="signal_filter_bank_log",
    attrs=SignalFilterBankLogAttrs,
    arity=(1, 1),
    infer=infer_log,
    quant=Quant.PLAIN,
    ref_f32=ref_log,
    traits=SIGNAL,
)
