"""Random cases of the ops of TFLM's audio front end, and data for them; states are inputs here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.build import Case, Rng
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_fft import SignalFftAttrs
from tinyrt.ops.signal_filter_bank import (
    SignalEnergyAttrs,
    SignalFilterBankAttrs,
    SignalFilterBankLogAttrs,
)
from tinyrt.ops.signal_frames import (
    SignalDelayAttrs,
    SignalFramerAttrs,
    SignalOverlapAddAttrs,
    SignalStackerAttrs,
    delay_states,
    framer_states,
    overlap_add_states,
    stacker_states,
)
from tinyrt.ops.signal_noise import SignalPcanAttrs, SpectralSubtractionAttrs
from tinyrt.ops.signal_window import SignalWindowAttrs

F32, S16, S32 = DType.FLOAT32, DType.INT16, DType.INT32
U32, U64 = DType.UINT32, DType.UINT64

LENGTHS = (4, 6, 8, 10, 12, 16, 18, 20, 24, 30, 36, 48, 50, 64, 90, 100, 120, 128)
"""Of signals: all radices, first, last and repeated."""


def _count(rng: Rng, most: int, least: int = 1) -> int:
    return int(rng.integers(least, most + 1))


def _outer(rng: Rng) -> tuple[int, ...]:
    """Dimensions before the last one, if any."""
    return tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3))))


def _case(
    op: str, attrs: Any, *types: tuple[tuple[int, ...], DType], constant: tuple[int, ...] = ()
) -> Case:
    shapes, dtypes = zip(*types, strict=True)
    return Case(op, attrs, shapes, frozenset(constant), input_dtypes=dtypes)


def _stateful(op: str, attrs: Any, x: TensorType, states: tuple[TensorType, ...]) -> Case:
    return _case(op, attrs, *((t.shape, t.dtype) for t in (x, *states)))


def window(rng: Rng) -> Case:
    """Frames as long as the window, or several beside each other."""
    size, outer = _count(rng, 40), _outer(rng)
    x = (*outer, size * _count(rng, 3))
    attrs = SignalWindowAttrs(int(rng.choice([0, 12, 14, 15, 31])))
    return _case("signal_window", attrs, (x, S16), ((size,), S16), constant=(1,))


def fft_auto_scale(rng: Rng) -> Case:
    """Any number of samples."""
    return _case("signal_fft_auto_scale", NoAttrs(), ((_count(rng, 40),), S16))


def _fft(rng: Rng) -> tuple[int, DType]:
    return int(rng.choice(LENGTHS)), (S16, S32, F32)[int(rng.integers(3))]


def rfft(rng: Rng) -> Case:
    """Signals as long as the transform, or shorter."""
    length, dtype = _fft(rng)
    size = length if rng.random() < 0.5 else _count(rng, length)
    return _case("signal_rfft", SignalFftAttrs(length), ((*_outer(rng), size), dtype))


def irfft(rng: Rng) -> Case:
    """Spectra of any real signal, and others."""
    length, dtype = _fft(rng)
    return _case("signal_irfft", SignalFftAttrs(length), ((*_outer(rng), length + 2), dtype))


def energy(rng: Rng) -> Case:
    """All frequencies, or some."""
    count = _count(rng, 30)
    end = count if rng.random() < 0.5 else _count(rng, count, 0)
    start = 0 if rng.random() < 0.5 else _count(rng, end, 0)
    return _case("signal_energy", SignalEnergyAttrs(end, start), ((2 * count,), S16))


def filter_bank(rng: Rng) -> Case:
    """Bands that touch, overlap, or are empty."""
    channels, size, held = _count(rng, 6), _count(rng, 30), _count(rng, 40)
    bands = []
    for _ in range(channels + 1):
        width = _count(rng, min(size, held, 8), 0)
        bands.append((_count(rng, size - width, 0), _count(rng, held - width, 0), width))
    attrs = SignalFilterBankAttrs(*zip(*bands, strict=True))
    types = ((size,), U32), ((held,), S16), ((held,), S16)
    return _case("signal_filter_bank", attrs, *types, constant=(1, 2))


def filter_bank_square_root(rng: Rng) -> Case:
    """Any number of channels."""
    types = ((_count(rng, 20),), U64), ((), S32)
    return _case("signal_filter_bank_square_root", NoAttrs(), *types)


def filter_bank_log(rng: Rng) -> Case:
    """Scales of front ends, and those at which products wrap."""
    scale = int(rng.choice([1, 64, 1600, 32768, 2**31 - 1]))
    attrs = SignalFilterBankLogAttrs(int(rng.choice([0, 3, 5, 31])), scale)
    return _case("signal_filter_bank_log", attrs, ((_count(rng, 40),), U32))


def spectral_subtraction(rng: Rng) -> Case:
    """The weights of front ends, and any others."""
    size, bits = _count(rng, 20), int(rng.choice([0, 10, 14, 31, 40]))
    parts = rng.integers(0, 2**31, 5) if rng.random() < 0.3 else rng.integers(0, 1 << 14, 5)
    one, other, least, two, another = (int(n) for n in parts)
    smoothing_bits = int(rng.choice([0, 10, 31]))
    clamps = bool(rng.integers(2))
    attrs = SpectralSubtractionAttrs(
        one, other, clamps, least, size, two, another, smoothing_bits, bits
    )
    x = ((size,), U32)
    return _case("signal_filter_bank_spectral_subtraction", attrs, x, x)


def pcan(rng: Rng) -> Case:
    """Tables of the usual size, and longer ones."""
    attrs, size = SignalPcanAttrs(int(rng.choice([0, 6, 31, 63]))), _count(rng, 40)
    types = ((size,), U32), ((size,), U32), ((_count(rng, 128, 125),), S16)
    return _case("signal_pcan", attrs, *types, constant=(2,))


def framer(rng: Rng) -> Case:
    """Frames longer and shorter than their step."""
    size, step = _count(rng, 12), _count(rng, 8)
    attrs = SignalFramerAttrs(size, min(step, size) if (prefill := rng.random() < 0.4) else step)
    attrs = SignalFramerAttrs(size, attrs.frame_step, prefill)
    x = TensorType(S16, (*_outer(rng), attrs.frame_step * _count(rng, 4)))
    return _stateful("signal_framer", attrs, x, framer_states(attrs, x))


def stacker(rng: Rng) -> Case:
    """Contexts on both sides, on one, or none."""
    channels, left, right = _count(rng, 6), _count(rng, 3, 0), _count(rng, 3, 0)
    attrs = SignalStackerAttrs(channels, left, right, _count(rng, left + right + 1))
    x = TensorType(S16, (channels,))
    return _stateful("signal_stacker", attrs, x, stacker_states(attrs, x))


def delay(rng: Rng) -> Case:
    """By less than an input, and by more."""
    attrs, x = SignalDelayAttrs(_count(rng, 12)), TensorType(S16, (*_outer(rng), _count(rng, 12)))
    return _stateful("signal_delay", attrs, x, delay_states(attrs, x))


def overlap_add(rng: Rng) -> Case:
    """Frames that overlap, and some that do not."""
    size = _count(rng, 12)
    attrs = SignalOverlapAddAttrs(_count(rng, size))
    x = TensorType(S16 if rng.random() < 0.7 else F32, (*_outer(rng), _count(rng, 4), size))
    return _stateful("signal_overlap_add", attrs, x, overlap_add_states(attrs, x))


def data_of(case: Case, rng: Rng) -> list[NDArray[Any]]:
    """Data for all inputs; counts and shifts are small."""
    pairs = zip(case.shapes, case.input_dtypes, strict=True)
    return [_data(shape, dtype, rng) for shape, dtype in pairs]


def _data(shape: tuple[int, ...], dtype: DType, rng: Rng) -> NDArray[Any]:
    """Noise of any loudness, extremes, a spike, or silence; one number is a count or a shift."""
    if dtype is F32:
        return rng.normal(size=shape).astype(np.float32)
    if dtype is S32 and shape in ((), (1,)):
        return np.asarray(rng.integers(0, 4, shape), np.int32)
    limits, kind = np.iinfo(dtype.numpy), rng.random()
    if kind < 0.15:
        return rng.choice(np.array([limits.min, limits.max, 1], dtype.numpy), shape)
    if kind < 0.25:
        spike = np.zeros(shape, dtype.numpy)
        spike.reshape(-1)[rng.integers(spike.size)] = (1, limits.min, limits.max)[rng.integers(3)]
        return spike
    bits = int(rng.integers(1, limits.bits + 1))
    raw = rng.integers(limits.min, limits.max, shape, dtype.numpy, endpoint=True)
    return raw >> dtype.numpy.type(limits.bits - bits)
