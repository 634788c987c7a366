"""The steps of a log-mel front end in NumPy: what its C code has to compute, bit for bit.

Each is an op of TFLM's, whose reference is taken from ``tinyrt.ops``, but for the few lines in
which the ``microfrontend`` differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.tables import WEIGHT_BITS, LogMelTables
from tinyrt.ops.shared.fft import rfft
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_filter_bank import (
    U16_MAX,
    SignalFilterBankLogAttrs,
    ref_energy,
    ref_filter_bank,
    ref_log,
    ref_square_root,
)
from tinyrt.ops.signal_noise import SignalPcanAttrs, ref_pcan, ref_subtraction
from tinyrt.ops.signal_window import SignalWindowAttrs, ref

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Spectra:
    """Spectra of frames, in which no state takes part.

    Attributes:
        windowed: int16 (frames, window): samples times weights.
        shifts: int64 (frames,): by how many bits they were shifted left.
        spectra: int16 (frames, fft + 2): real and imaginary parts in turn, divided by the length.

    """

    windowed: Array
    shifts: Array
    spectra: Array


def spectra_of(front: LogMel, tables: LogMelTables, frames: NDArray[np.int16]) -> Spectra:
    """Frames int16 (frames, window) -> their spectra."""
    windowed = ref(SignalWindowAttrs(WEIGHT_BITS), frames, tables.window)
    # In int16, as TFLM computes it: -32768 has no size and does not count.
    loudest = np.maximum(np.abs(windowed).max(axis=-1), 0).astype(np.int64)
    shifts = 15 - np.frexp(loudest.astype(np.float64))[1].astype(np.int64)
    scaled = (windowed.astype(np.int64) << shifts[:, None]).astype(np.int16)
    return Spectra(windowed, shifts, rfft(scaled, front.fft_size))


def bands_of(tables: LogMelTables, spectrum: NDArray[np.int16], shift: int) -> NDArray[np.uint32]:
    """One spectrum int16 (fft + 2,) -> roots of the energies in each band, uint32 (bands,)."""
    energies = ref_energy(tables.energy, spectrum)
    sums = ref_filter_bank(tables.bank, energies, tables.weights, tables.unweights)
    return ref_square_root(NoAttrs(), sums, np.asarray(shift, np.int32))


def cleaned(
    tables: LogMelTables, bands: NDArray[np.uint32], estimate: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Bands without noise and of even loudness, and the next estimate of noise; uint32 (bands,)."""
    if tables.subtraction is None:
        return bands, estimate
    y, estimate, _ = ref_subtraction(tables.subtraction, bands, estimate)
    if tables.gains is not None:
        y = ref_pcan(SignalPcanAttrs(tables.snr_shift), y, estimate, tables.gains)
    return y, estimate


def features_of(front: LogMel, bands: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Logarithms of bands, uint16 (bands,); without logarithm the bands, at most 65535."""
    if front.log_shift is None:
        return np.minimum(bands, U16_MAX).astype(np.uint16)
    attrs = SignalFilterBankLogAttrs(front.correction_bits, 1 << front.log_shift)
    return ref_log(attrs, bands).astype(np.uint16)
