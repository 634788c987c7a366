"""signal_fft_auto_scale, signal_rfft, signal_irfft: Fourier transforms of real signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.fft import DTYPES, RADICES, factors_of, irfft, rfft
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.signal import SAMPLES, SIGNAL, require_shape, tensor
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant

MAX_LENGTH = 1 << 16
"""Samples of the longest signal: its table of roots takes as many elements."""


@dataclass(frozen=True, slots=True)
class SignalFftAttrs:
    """TFLM's options of SignalRfft and SignalIrfft.

    Attributes:
        fft_length: samples of a signal; an input that is shorter has zeros behind it.

    """

    fft_length: int


def infer_auto_scale(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """int16 (n,) -> int16 (n,), and int32 (): by how many bits the samples are shifted."""
    del attrs
    return tensor(inputs, 0, "input", DType.INT16, 1), TensorType(DType.INT32, ())


def ref_auto_scale(
    attrs: NoAttrs, x: NDArray[np.int16]
) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
    """Samples shifted left until the largest one fills 15 bits, and by how many bits.

    TFLM keeps the largest size in an int16, which cannot hold that of -32768: the search begins
    anew behind such a sample.
    """
    del attrs
    most = _largest(x)
    # Of 0 and of negative numbers, TFLM takes the highest bit to be the 32nd.
    shift = 15 - most.bit_length() if most > 0 else 0
    return (x.astype(np.int64) << shift).astype(np.int16), np.asarray(shift, np.int32)


def _largest(x: NDArray[np.int16]) -> int:
    lowest = np.flatnonzero(x == np.iinfo(np.int16).min)
    if not lowest.size:
        return int(np.abs(x).max())
    most = -(2**15)
    for sample in x[lowest[-1] + 1 :].tolist():
        most = sample if sample > most else max(most, -sample)
    return most


def _check_length(length: int) -> None:
    factors = factors_of(length // 2) if 0 < length <= MAX_LENGTH else ()
    if length % 2 or not factors or not set(factors) <= set(RADICES):
        raise ShapeError(
            f"fft_length is {length}",
            expected=f"4 to {MAX_LENGTH}, twice a product of 2, 3 and 5",
        )


def _signal(inputs: Sequence[TensorType | None], name: str) -> TensorType:
    x = operand(inputs, 0, name)
    if x.dtype not in DTYPES or not x.shape:
        raise ShapeError(f"{name} is {x}", expected="rows of int16, int32 or float32")
    return x


def infer_rfft(
    attrs: SignalFftAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(..., n) of int16, int32 or float32, n <= fft_length -> (..., fft_length + 2) of the same."""
    _check_length(attrs.fft_length)
    x = _signal(inputs, "signal")
    if x.shape[-1] > attrs.fft_length:
        raise ShapeError(f"signal is {x}", expected=f"at most {attrs.fft_length} samples")
    return (TensorType(x.dtype, (*x.shape[:-1], attrs.fft_length + 2)),)


def ref_rfft(attrs: SignalFftAttrs, x: Array) -> Array:
    """Real and imaginary parts in turn; on integers, of the signal divided by its length."""
    return rfft(x, attrs.fft_length)


def infer_irfft(
    attrs: SignalFftAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(..., fft_length + 2) of int16, int32 or float32 -> (..., fft_length) of the same."""
    _check_length(attrs.fft_length)
    x = _signal(inputs, "spectrum")
    require_shape(x, (*x.shape[:-1], attrs.fft_length + 2), "spectrum")
    return (TensorType(x.dtype, (*x.shape[:-1], attrs.fft_length)),)


def ref_irfft(attrs: SignalFftAttrs, x: Array) -> Array:
    """The signals of spectra as of signal_rfft; integers are divided by the length again."""
    return irfft(x, attrs.fft_length)


_op = partial(OpSpec, arity=(1, 1))
_fft = partial(_op, attrs=SignalFftAttrs, quant=Quant.FLOAT_ONLY, traits=SAMPLES)

SIGNAL_FFT_AUTO_SCALE = _op(
    name="signal_fft_auto_scale",
    attrs=NoAttrs,
    infer=infer_auto_scale,
    quant=Quant.PLAIN,
    ref_f32=ref_auto_scale,
    traits=SIGNAL,
)
SIGNAL_RFFT = _fft(name="signal_rfft", infer=infer_rfft, ref_f32=ref_rfft)
SIGNAL_IRFFT = _fft(name="signal_irfft", infer=infer_irfft, ref_f32=ref_irfft)
