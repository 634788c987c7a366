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
from tinyrt.ops.signal_filter_bank import U16_MAX, U32_MAX, SignalFilterBankLogAttrs, ref_log
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
    # In int16, as TFLM computes it: -32768 has no size and does not count. Ends are small.
    loudest = np.abs(windowed).max(axis=-1).astype(np.int64)
    shifts = 15 - np.frexp(loudest.astype(np.float64))[1].astype(np.int64)
    scaled = (windowed.astype(np.int64) << shifts[:, None]).astype(np.int16)
    return Spectra(windowed, shifts, rfft(scaled, front.fft_size))


def bands_of(tables: LogMelTables, spectra: NDArray[np.int16], shifts: Array) -> NDArray[np.uint32]:
    """Spectra int16 (..., fft + 2) -> roots of the energies in each band, uint32 (..., bands).

    The same as ``ref_energy``, ``ref_filter_bank`` and ``ref_square_root`` of each, all at once:
    energies of a spectrum add up to ``2**31`` at most, so that float64 holds their sums exactly.
    """
    pairs = spectra.reshape(*spectra.shape[:-1], -1, 2).astype(np.int64)
    counted = slice(tables.energy.start_index, tables.energy.end_index)
    energies = (pairs**2).sum(axis=-1)[..., counted].astype(np.float64)
    sums = (energies @ tables.triangles).astype(np.int64)
    roots = np.sqrt(sums).astype(np.int64)
    roots -= roots * roots > sums
    roots += sums - roots * roots > roots
    most = np.where(sums > U32_MAX, U32_MAX, U16_MAX)
    shifted: NDArray[np.int64] = np.minimum(roots, most) >> np.asarray(shifts)[..., None]
    return shifted.astype(np.uint32)


def cleaned(
    tables: LogMelTables, bands: NDArray[np.uint32], estimate: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Bands without noise and of even loudness, and the next estimate; uint32 (..., bands)."""
    if tables.subtraction is None:
        return bands, estimate
    y, estimate, _ = ref_subtraction(tables.subtraction, bands, estimate)
    if tables.gains is not None:
        y = ref_pcan(SignalPcanAttrs(tables.snr_shift), y, estimate, tables.gains)
    return y, estimate


def features_of(front: LogMel, bands: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Logarithms of bands, uint16 (..., bands); without logarithm the bands, at most 65535."""
    if front.log_shift is None:
        return np.minimum(bands, U16_MAX).astype(np.uint16)
    attrs = SignalFilterBankLogAttrs(front.correction_bits, 1 << front.log_shift)
    return ref_log(attrs, bands).astype(np.uint16)
