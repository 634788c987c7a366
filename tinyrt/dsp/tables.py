"""Constants of a log-mel front end: window, transform, filters of bands, gains.

TFLM's ``microfrontend`` computes them in float32, one operation after the other, and so does this.
Cosines and powers are evaluated in float64 and rounded, as C libraries do; logarithms see ``mel``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp.cepstra import CepstraTables, cepstra_tables
from tinyrt.dsp.checks import require
from tinyrt.dsp.log_mel import ROOT_BITS, LogMel, NoiseReduction, Pcan
from tinyrt.dsp.mel import F32, Floats, mel_of
from tinyrt.ir import DType
from tinyrt.ops.shared.fft import Tables as FftTables
from tinyrt.ops.shared.fft import tables as fft_tables
from tinyrt.ops.signal_filter_bank import SignalEnergyAttrs, SignalFilterBankAttrs
from tinyrt.ops.signal_noise import OUTPUT_BITS, SNR_BITS, SpectralSubtractionAttrs

WEIGHT_BITS = 12
"""Fraction bits of weights of the window and of the bands."""

SMOOTHING_SCALE = 1 << 14
"""1, as weights of noise reduction count."""

WIDE_BITS = 32
"""Powers of two for which there are gains."""


@dataclass(frozen=True, slots=True, eq=False)
class LogMelTables:
    """All constants of a front end.

    Attributes:
        window: weights int16 (window,), of 12 fraction bits.
        fft: those of the transform.
        energy: which frequencies count.
        bank: which of them each band takes; there is one more than features.
        weights: int16, of all bands in turn: how much of a frequency falls to the band.
        unweights: int16: how much falls to the next one.
        triangles: both as float64 (frequencies that count, bands).
        subtraction: options of noise reduction; None without.
        gains: int16 (125,); None without PCAN.
        snr_shift: how far products of band and gain are shifted right.
        cepstra: those of the cosine transform; None without.

    """

    window: NDArray[np.int16]
    fft: FftTables
    energy: SignalEnergyAttrs
    bank: SignalFilterBankAttrs
    weights: NDArray[np.int16]
    unweights: NDArray[np.int16]
    triangles: NDArray[np.float64]
    subtraction: SpectralSubtractionAttrs | None
    gains: NDArray[np.int16] | None
    snr_shift: int
    cepstra: CepstraTables | None


@lru_cache(maxsize=16)
def tables_of(front: LogMel) -> LogMelTables:
    """The constants of a front end.

    Raises:
        DataError: the upper frequency is too near to half the sample rate, or gains or
            coefficients overflow.

    """
    bank, weights, unweights, energy = _bands(front)
    reduction, pcan = front.noise_reduction, front.pcan
    gains, snr_shift = (None, 0) if pcan is None or reduction is None else _gains(front, pcan)
    return LogMelTables(
        window=window_of(front.window),
        fft=fft_tables(DType.INT16, front.fft_size, inverse=False),
        energy=energy,
        bank=bank,
        weights=weights,
        unweights=unweights,
        triangles=_triangles(bank, weights, unweights),
        subtraction=None if reduction is None else _subtraction(front.bands, reduction),
        gains=gains,
        snr_shift=snr_shift,
        cepstra=cepstra_tables(front),
    )


def _rounded(x: Floats, one: int) -> NDArray[np.int16]:
    """``x`` as int16 in which ``one`` stands for 1; half is rounded up."""
    whole: NDArray[np.int16] = np.floor(x * F32(one) + F32(0.5)).astype(np.int16)
    return whole


def window_of(size: int) -> NDArray[np.int16]:
    """``0.5 - 0.5 * cos(2 * pi * (i + 0.5) / size)``, of 12 fraction bits: a Hann window."""
    turn = F32(math.pi) * F32(2) / F32(size)
    phases = turn * (np.arange(size, dtype=np.float32) + F32(0.5))
    cosines = np.cos(phases.astype(np.float64)).astype(np.float32)
    return _rounded(F32(0.5) - F32(0.5) * cosines, 1 << WEIGHT_BITS)


def _bands(
    front: LogMel,
) -> tuple[SignalFilterBankAttrs, NDArray[np.int16], NDArray[np.int16], SignalEnergyAttrs]:
    """Triangles that overlap by half, whose corners are equally far apart in mel."""
    low, high = mel_of(front.lower_hz), mel_of(front.upper_hz)
    spacing = (high - low) / F32(front.bands + 1)
    numbers = np.arange(front.bands + 2, dtype=np.float32)
    corners = (low + spacing * numbers).astype(np.float32)
    hz_per_bin = F32(0.5) * F32(front.sample_rate) / F32(front.fft_size // 2)
    first = int(F32(1.5) + F32(front.lower_hz) / hz_per_bin)
    mels = mel_of(np.arange(front.fft_size // 2 + 1, dtype=np.float32) * hz_per_bin)
    # The frequency behind the last one of each band.
    ends = np.maximum(np.searchsorted(mels, corners[1:], side="right"), first)
    inside = bool(first < ends[-1] <= front.fft_size // 2)
    expected = "a frequency of the transform between lower_hz and it, and one above it"
    require(inside, "upper_hz", front.upper_hz, expected)
    starts = np.concatenate([[first], ends[:-1]])
    widths = ends - starts
    band = np.repeat(np.arange(front.bands + 1), widths)
    center, below = corners[1:][band], corners[:-1][band]
    part = ((center - mels[first : ends[-1]]) / (center - below)).astype(np.float32)
    weights = _rounded(part, 1 << WEIGHT_BITS)
    unweights = _rounded(F32(1) - part, 1 << WEIGHT_BITS)
    columns = (starts, starts - first, widths)
    bank = SignalFilterBankAttrs(*(tuple(n.tolist()) for n in columns))
    return bank, weights, unweights, SignalEnergyAttrs(int(ends[-1]), first)


def _triangles(
    bank: SignalFilterBankAttrs, weights: NDArray[np.int16], unweights: NDArray[np.int16]
) -> NDArray[np.float64]:
    """What each frequency gives to each band: the rising side by weights, the other by the rest."""
    bands = np.repeat(np.arange(len(bank.widths)), bank.widths)
    sides = np.zeros((len(bands), len(bank.widths) + 1))
    frequencies = np.arange(len(bands))
    sides[frequencies, bands] = weights
    sides[frequencies, bands + 1] = unweights
    return sides[:, 1:-1]


def _subtraction(bands: int, reduction: NoiseReduction) -> SpectralSubtractionAttrs:
    even, odd, least = (
        int(F32(part) * F32(SMOOTHING_SCALE))
        for part in (
            reduction.even_smoothing,
            reduction.odd_smoothing,
            reduction.min_signal_remaining,
        )
    )
    return SpectralSubtractionAttrs(
        alternate_one_minus_smoothing=SMOOTHING_SCALE - odd,
        alternate_smoothing=odd,
        clamping=False,
        min_signal_remaining=least,
        num_channels=bands,
        one_minus_smoothing=SMOOTHING_SCALE - even,
        smoothing=even,
        smoothing_bits=reduction.smoothing_bits,
        spectral_subtraction_bits=14,
    )


def _gains(front: LogMel, pcan: Pcan) -> tuple[NDArray[np.int16], int]:
    """Gains at powers of two of an estimate of noise, and what a parabola between them needs."""
    assert front.noise_reduction is not None
    unit = 1 << front.noise_reduction.smoothing_bits - front.correction_bits
    powers = 1 << np.arange(1, WIDE_BITS, dtype=np.int64)
    first, middle, last = (_gain(pcan, x, unit) for x in (powers, powers + powers // 2, 2 * powers))
    slope = 4 * (middle - first) - (last - first)
    curve = last - first - slope
    gains = np.zeros(4 * WIDE_BITS - 3, np.int64)
    gains[:2] = _gain(pcan, np.arange(2), unit)
    for i, numbers in enumerate((first, slope, curve)):
        gains[2 + i :: 4][: len(powers)] = numbers
    limits = np.iinfo(np.int16)
    fits = limits.min <= gains.min() and gains.max() <= limits.max
    require(bool(fits), "gain_bits", pcan.gain_bits, "fewer: gains fall too steeply for int16")
    snr_shift = pcan.gain_bits - front.correction_bits - SNR_BITS
    least = front.correction_bits + SNR_BITS
    require(snr_shift >= 0, "gain_bits", pcan.gain_bits, f"at least {least} for this fft")
    most = int(gains[0]) << ROOT_BITS >> snr_shift >> SNR_BITS - OUTPUT_BITS
    fits = most << max(front.correction_bits, SNR_BITS - OUTPUT_BITS) < 1 << 32
    expected = "a higher offset, or other gain_bits: a loud band times the highest gain overflows"
    require(fits, "pcan", pcan, expected)
    return gains.astype(np.int16), snr_shift


def _gain(pcan: Pcan, noise: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """The gain at an estimate of noise, of ``gain_bits``, at most that of int16."""
    loudness = noise.astype(np.float32) / F32(unit) + F32(pcan.offset)
    power = np.power(loudness.astype(np.float64), -float(F32(pcan.strength)))
    gain = F32(1 << pcan.gain_bits) * power.astype(np.float32)
    return np.where(gain > 32767, F32(32767), gain + F32(0.5)).astype(np.int64)
