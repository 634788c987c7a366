"""signal_filter_bank_spectral_subtraction and signal_pcan: less noise, and an even loudness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.signal import (
    INT32_MAX,
    SIGNAL,
    require_shape,
    require_states,
    require_within,
    tensor,
)
from tinyrt.ops.shared.spec import OpSpec, Quant

SNR_BITS, OUTPUT_BITS = 12, 6
"""Fraction bits of a ratio of signal to noise, and of the output."""

GAINS = 125
"""Entries of a table of gains: three for each power of two, and a fourth between them."""


@dataclass(frozen=True, slots=True)
class SpectralSubtractionAttrs:
    """TFLM's options of SignalFilterBankSpectralSubtraction.

    Attributes:
        alternate_one_minus_smoothing: the old estimate's weight, of channels of odd number.
        alternate_smoothing: the new input's weight there.
        clamping: whether no estimate is above its input.
        min_signal_remaining: the least part of its input that an output is.
        num_channels: number of channels.
        one_minus_smoothing: the old estimate's weight, of channels of even number.
        smoothing: the new input's weight there.
        smoothing_bits: fraction bits of estimates.
        spectral_subtraction_bits: fraction bits of weights and parts.

    """

    alternate_one_minus_smoothing: int
    alternate_smoothing: int
    clamping: bool
    min_signal_remaining: int
    num_channels: int
    one_minus_smoothing: int
    smoothing: int
    smoothing_bits: int
    spectral_subtraction_bits: int


def subtraction_states(attrs: SpectralSubtractionAttrs, x: TensorType) -> tuple[TensorType, ...]:
    """The last estimate of noise, of the input's type."""
    del attrs
    return (x,)


def infer_subtraction(
    attrs: SpectralSubtractionAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """Input and last estimate uint32 (n,) -> output, estimate, and the estimate for the next run.

    The last two hold the same: the state's memory is not the output's.
    """
    limits = {"smoothing_bits": 31, "spectral_subtraction_bits": 63}
    for field in fields(attrs):
        require_within(getattr(attrs, field.name), 0, limits.get(field.name, INT32_MAX), field.name)
    x = tensor(inputs, 0, "input", DType.UINT32, 1)
    require_shape(x, (attrs.num_channels,), "input")
    return x, x, *require_states(inputs, 1, subtraction_states(attrs, x))


def ref_subtraction(
    attrs: SpectralSubtractionAttrs, x: NDArray[np.uint32], state: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """The input without the estimate of its noise, in unsigned arithmetic that wraps."""
    odd = np.arange(x.shape[-1]) % 2 == 1
    new = np.where(odd, attrs.alternate_smoothing, attrs.smoothing).astype(np.uint64)
    old = np.where(odd, attrs.alternate_one_minus_smoothing, attrs.one_minus_smoothing)
    bits = np.uint64(attrs.spectral_subtraction_bits)
    scaled = x << np.uint32(attrs.smoothing_bits)
    sums = scaled.astype(np.uint64) * new + state.astype(np.uint64) * old.astype(np.uint64)
    noise = (sums >> bits).astype(np.uint32)
    limited = np.minimum(noise, scaled)
    least = x.astype(np.uint64) * np.uint64(attrs.min_signal_remaining) >> bits
    y = np.maximum(scaled - limited >> np.uint32(attrs.smoothing_bits), least.astype(np.uint32))
    estimate = limited if attrs.clamping else noise
    return y, estimate, estimate


@dataclass(frozen=True, slots=True)
class SignalPcanAttrs:
    """TFLM's options of SignalPCAN.

    Attributes:
        snr_shift: how far products of input and gain are shifted right.

    """

    snr_shift: int


def infer_pcan(
    attrs: SignalPcanAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """Input and estimate of noise uint32 (n,), gains int16 (125,) or more -> uint32 (n,)."""
    require_within(attrs.snr_shift, 0, 63, "snr_shift")
    x = tensor(inputs, 0, "input", DType.UINT32, 1)
    noise = tensor(inputs, 1, "estimate of noise", DType.UINT32, 1)
    require_shape(noise, x.shape, "estimate of noise")
    gains = tensor(inputs, 2, "gains", DType.INT16, 1)
    if gains.shape[0] < GAINS:
        raise ShapeError(f"gains is {gains}", expected=f"at least {GAINS} entries")
    return (x,)


def ref_pcan(
    attrs: SignalPcanAttrs,
    x: NDArray[np.uint32],
    noise: NDArray[np.uint32],
    gains: NDArray[np.int16],
) -> NDArray[np.uint32]:
    """The input times its gain, which depends on the noise; small ratios are squared."""
    gain = gains_of(noise, gains).astype(np.uint32)
    ratio = (x.astype(np.uint64) * gain >> np.uint64(attrs.snr_shift)).astype(np.uint32)
    squared = ratio * ratio >> np.uint32(2 + 2 * SNR_BITS - OUTPUT_BITS)
    shifted = (ratio >> np.uint32(SNR_BITS - OUTPUT_BITS)) - np.uint32(1 << OUTPUT_BITS)
    return np.where(ratio < 2 << SNR_BITS, squared, shifted)


def gains_of(noise: NDArray[np.uint32], gains: NDArray[np.int16]) -> NDArray[np.int16]:
    """The table's polynomial of second degree for each power of two; its first entries up to 2."""
    bits = np.frexp(noise.astype(np.float64))[1].astype(np.int64)
    at = np.where(noise <= 2, 0, 4 * bits - 6)
    wide, table = noise.astype(np.int64), gains.astype(np.int64)
    fraction = np.where(
        bits < 11, wide << np.maximum(11 - bits, 0), wide >> np.maximum(bits - 11, 0)
    )
    fraction &= 0x3FF
    slope = (table[at + 2] * fraction >> 5) + (table[at + 1] << 5)
    curve = (slope * fraction + (1 << 14) >> 15) + table[at]
    small = table[np.minimum(wide, 2)]
    return np.where(noise <= 2, small, curve).astype(np.int16)


SIGNAL_FILTER_BANK_SPECTRAL_SUBTRACTION = OpSpec(
    name="signal_filter_bank_spectral_subtraction",
    attrs=SpectralSubtractionAttrs,
    arity=(2, 2),
    infer=infer_subtraction,
    quant=Quant.STATEFUL,
    ref_f32=ref_subtraction,
    traits=SIGNAL,
)
SIGNAL_PCAN = OpSpec(
    name="signal_pcan",
    attrs=SignalPcanAttrs,
    arity=(3, 3),
    infer=infer_pcan,
    quant=Quant.PLAIN,
    ref_f32=ref_pcan,
    traits=SIGNAL,
)
