"""Features of motion as a value: statistics and spectra of windows of several axes.

Limits are such that no step overflows. Of ``n <= 2048`` samples of 16 bits, the sum is at most
``2**26``, that of squares ``2**41``, and ``n`` times it ``2**52``. Differences from the mean have
16 bits and a sign; raised so that the largest has all of them, times a weight of 12 bits and
divided by ``2**13``, they are int16.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from tinyrt.dsp.checks import known, require, require_int, require_real
from tinyrt.dsp.log_mel import MAX_FFT, MAX_LOG_SHIFT, MAX_RATE, MIN_FFT
from tinyrt.ops.shared.fft import RADICES, factors_of

STATISTICS = ("mean", "rms", "deviation", "amplitude")
"""What each axis has before its spectrum."""

MAX_AXES, MAX_WINDOW, MAX_BANDS, MAX_PEAKS = 16, 1 << 11, 64, 8
MIN_WINDOW = 4


@dataclass(frozen=True, slots=True)
class Motion:
    """What an accelerometer says, or another sensor of some axes; windows and steps are in samples.

    A row of features has for each axis: mean, root mean square, standard deviation and half of the
    range, in steps of the sensor; then, as ``ln(64 * a) * 2 ** log_shift`` of an amplitude ``a`` of
    the spectrum, each band and each peak; then the numbers of the peaks' frequencies, of which one
    is ``sample_rate / fft``.

    Attributes:
        axes: numbers of a sample.
        sample_rate: samples in a second.
        window: samples of a row.
        step: samples from one row to the next, at most a window.
        fft: samples that are transformed, zeros behind the window; None for the next power of two.
        edges: frequencies in Hz; between each two of them is a band.
        peaks: how many of the largest peaks of the spectrum count.
        log_shift: of the logarithms.

    """

    axes: int = 3
    sample_rate: float = 100
    window: int = 128
    step: int = 64
    fft: int | None = None
    edges: tuple[float, ...] = (0.5, 2, 4, 8, 16, 32)
    peaks: int = 1
    log_shift: int = 6

    def __post_init__(self) -> None:
        require_int(self.axes, 1, MAX_AXES, "axes")
        require_real(self.sample_rate, 2.0**-10, MAX_RATE, "sample_rate")
        require_int(self.window, MIN_WINDOW, MAX_WINDOW, "window")
        require_int(self.step, 1, self.window, "step")
        if self.fft is not None:
            require_int(self.fft, max(self.window, MIN_FFT), MAX_FFT, "fft")
        length = self.fft_size
        usable = length % 4 == 0 and set(factors_of(length // 2)) <= set(RADICES)
        require(usable, "fft", length, "four times a product of twos, threes and fives")
        require_int(self.peaks, 0, MAX_PEAKS, "peaks")
        require_int(self.log_shift, 0, MAX_LOG_SHIFT, "log_shift")
        require_int(self.bands, 1, MAX_BANDS, "edges less one")
        for edge in self.edges:
            require_real(edge, 0, self.sample_rate / 2, "edges")
        bins = self.bins
        apart = all(low < high for low, high in pairwise(bins))
        hz = self.sample_rate / length
        expected = f"rising, at least {hz:.6g} apart: a frequency of the transform in each band"
        require(apart, "edges", self.edges, expected)

    @property
    def fft_size(self) -> int:
        """Samples that are transformed."""
        return self.fft or max(MIN_FFT, 1 << (self.window - 1).bit_length())

    @property
    def bands(self) -> int:
        """Bands of an axis."""
        return len(self.edges) - 1

    @property
    def bins(self) -> tuple[int, ...]:
        """The first frequency of the transform at or above each edge; the mean is in none."""
        each = self.fft_size / self.sample_rate
        return tuple(max(1, math.ceil(edge * each)) for edge in self.edges)

    @property
    def of_axis(self) -> int:
        """Features of an axis."""
        return len(STATISTICS) + self.bands + 2 * self.peaks

    @property
    def features(self) -> int:
        """Features of a row."""
        return self.axes * self.of_axis

    @property
    def is_signed(self) -> bool:
        """Whether features have a sign: they are int16."""
        return True

    @property
    def names(self) -> tuple[str, ...]:
        """What each feature of a row is."""
        bands = [f"{a:g} to {b:g} Hz" for a, b in pairwise(self.edges)]
        peaks = [f"{what} {i}" for what in ("peak", "place") for i in range(self.peaks)]
        of_axis = (*STATISTICS, *bands, *peaks)
        return tuple(f"axis {axis}: {name}" for axis in range(self.axes) for name in of_axis)

    def frames(self, samples: int) -> int:
        """How many rows so many samples make."""
        return max(0, (samples - self.window) // self.step + 1)

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return asdict(self) | {"edges": list(self.edges)}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Motion:
        """The front end of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is unknown or out of range.

        """
        made = dict(known(cls, options))
        edges = made.get("edges", cls().edges)
        require(isinstance(edges, list | tuple), "edges", edges, "a list of frequencies in Hz")
        return cls(**made | {"edges": tuple(edges)})
