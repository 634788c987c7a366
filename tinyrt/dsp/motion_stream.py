"""Samples of motion that come in pieces of any size, and the features that they make.

This is the specification of ``tinyrt_motion``, which computes the same integers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.motion import Motion
from tinyrt.dsp.tables import window_of
from tinyrt.errors import DataError
from tinyrt.ops.shared.fft import rfft
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_filter_bank import SignalFilterBankLogAttrs, ref_log, ref_square_root

S16_MAX = (1 << 15) - 1
ROOT_BITS = 14
"""How far energies are shifted left before their root: 6 bits of its fraction, and one for the
transform, whose samples are halved."""

ROWS_AT_ONCE = 256
"""Rows that are computed together."""


class MotionStream:
    """A front end at work: it keeps the samples that a next window begins with.

    Args:
        front: what it computes.

    """

    def __init__(self, front: Motion) -> None:
        self.front = front
        self._weights = window_of(front.window).astype(np.int64)
        self.reset()

    def reset(self) -> None:
        """Begin anew: no samples."""
        self._kept = np.zeros((0, self.front.axes), np.int16)

    def push(self, samples: ArrayLike) -> NDArray[np.int16]:
        """int16 (n, axes) -> int16 (rows, features) of the windows that are full now.

        Raises:
            DataError: the samples are no rows of int16, or of another number of axes.

        """
        front, x = self.front, np.asarray(samples)
        if x.dtype != np.int16 or x.ndim != 2 or x.shape[1] != front.axes:
            raise DataError(
                f"samples are {x.dtype} of the shape {list(x.shape)}",
                expected=f"int16 (n, {front.axes}): a number of each axis",
                hint="take the integers of the sensor; multiply real values by one scale and round",
            )
        joined = np.concatenate([self._kept, x])
        starts = front.step * np.arange(front.frames(len(joined)))
        self._kept = joined[len(starts) * front.step :]
        return self.rows_at(joined, starts)

    def rows_at(self, samples: NDArray[np.int16], starts: NDArray[np.int64]) -> NDArray[np.int16]:
        """Rows of the windows of samples (n, axes) that start there, (starts, features)."""
        parts = [
            self._rows(samples, starts[at : at + ROWS_AT_ONCE])
            for at in range(0, len(starts), ROWS_AT_ONCE)
        ]
        return np.concatenate([np.zeros((0, self.front.features), np.int16), *parts])

    def _rows(self, samples: NDArray[np.int16], starts: NDArray[np.int64]) -> NDArray[np.int16]:
        front = self.front
        windows = samples[starts[:, None] + np.arange(front.window)].astype(np.int64)
        each = self._of_axes(windows.swapaxes(1, 2).reshape(-1, front.window))
        return each.reshape(-1, front.features).astype(np.int16)

    def _of_axes(self, windows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Features of windows of one axis each, int64 (n, window) -> (n, of_axis)."""
        means, statistics = zip(*(statistics_of(x) for x in windows), strict=True)
        centred = zip(windows, means, strict=True)
        scaled, ups = zip(*(raised(x - mean, self._weights) for x, mean in centred), strict=True)
        spectra = rfft(np.stack(scaled), self.front.fft_size).astype(np.int64)
        energies = (spectra.reshape(len(windows), -1, 2) ** 2).sum(2)
        made = [self._roots(x, up) for x, up in zip(energies, ups, strict=True)]
        roots, places = (np.array(part) for part in zip(*made, strict=True))
        logs = ref_log(SignalFilterBankLogAttrs(0, 1 << self.front.log_shift), roots)
        return np.concatenate([np.array(statistics), logs, places], axis=1).astype(np.int64)

    def _roots(self, energies: NDArray[np.int64], up: int) -> tuple[Any, list[int]]:
        """Amplitudes of the bands and peaks of a raised spectrum, and where the peaks are."""
        bins = self.front.bins
        sums = [energies[low:high].sum() for low, high in pairwise(bins)]
        places = peaks_of(energies, bins[0], bins[-1], self.front.peaks)
        sums += [energies[place] if place else 0 for place in places]
        wide = np.array(sums, np.uint64) << np.uint64(ROOT_BITS)
        return ref_square_root(NoAttrs(), wide, np.array(up, np.int32)), places


def statistics_of(x: NDArray[np.int64]) -> tuple[int, list[int]]:
    """The mean, rounded half up; and mean, rms, deviation and half of the range, at most 32767."""
    n, total, squares = len(x), int(x.sum()), int((x * x).sum())
    mean = (2 * total + n) // (2 * n)
    rms, deviation = (_nth_root(n, wide) for wide in (n * squares, n * squares - total * total))
    amplitude = (int(x.max()) - int(x.min()) + 1) >> 1
    return mean, [mean, *(min(s, S16_MAX) for s in (rms, deviation, amplitude))]


def _nth_root(n: int, wide: int) -> int:
    """``sqrt(wide) / n``, both rounded: the root of a mean of which ``wide`` is ``n * n`` times."""
    wides = np.array([wide], np.uint64)
    return (int(ref_square_root(NoAttrs(), wides, np.array(0, np.int32))[0]) + n // 2) // n


def raised(differences: NDArray[np.int64], weights: NDArray[np.int64]) -> tuple[Any, int]:
    """Differences from the mean, raised to fill 16 bits, weighted and halved: int16; and bits."""
    up = 16 - int(np.abs(differences).max()).bit_length()
    return (((differences << up) * weights) >> 13).astype(np.int16), up


def peaks_of(energies: NDArray[np.int64], first: int, end: int, count: int) -> list[int]:
    """The places of the largest peaks from ``first`` to before ``end``, the largest first.

    A peak is above what follows it, and not below what comes before; beyond both ends is nothing.
    Of equal ones the first comes first. 0 stands for none.
    """
    x = np.concatenate([[0], energies[first:end], [0]])
    inside = x[1:-1]
    (tops,) = np.nonzero((inside >= x[:-2]) & (inside > x[2:]))
    order = sorted(tops, key=lambda i: (-inside[i], i))[:count]
    return [first + int(i) for i in order] + [0] * (count - len(order))
