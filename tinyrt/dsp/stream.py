"""Samples that come in pieces of any size, and the features that they make."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.cepstra import cepstra_of
from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.steps import bands_of, cleaned, features_of, spectra_of
from tinyrt.dsp.tables import tables_of
from tinyrt.errors import DataError

FRAMES_AT_ONCE = 256
"""Frames whose spectra are in memory together."""


class LogMelStream:
    """A front end at work: it keeps the samples that a next frame begins with, and the noise.

    Args:
        front: what it computes.

    Raises:
        DataError: the constants of the front end overflow, see ``tables_of``.

    """

    def __init__(self, front: LogMel) -> None:
        self.front = front
        self._tables = tables_of(front)
        self.reset()

    def reset(self) -> None:
        """Begin anew: no samples, no noise."""
        self._kept = np.zeros(0, np.int16)
        self._estimate = np.zeros(self.front.bands, np.uint32)

    @property
    def noise(self) -> NDArray[np.uint32]:
        """The estimate of noise, uint32 (bands,), with ``smoothing_bits`` of fraction."""
        return self._estimate.copy()

    def push(self, samples: ArrayLike) -> NDArray[np.uint16] | NDArray[np.int16]:
        """int16 (n,) -> features of the frames that are full now.

        They are uint16 (frames, bands); with a cosine transform, int16 (frames, coefficients).

        Raises:
            DataError: the samples are no row of int16.

        """
        x = np.asarray(samples)
        if x.dtype != np.int16 or x.ndim != 1:
            raise DataError(
                f"samples are {x.dtype} of the shape {list(x.shape)}",
                expected="one row of int16",
                hint="read 16-bit sound of one channel; multiply floats by 32768 and round",
            )
        joined = np.concatenate([self._kept, x])
        count = self.front.frames(len(joined))
        starts = self.front.step * np.arange(count)
        self._kept = joined[count * self.front.step :]
        parts = [
            self._features(joined, starts[at : at + FRAMES_AT_ONCE])
            for at in range(0, count, FRAMES_AT_ONCE)
        ]
        features = np.concatenate([np.zeros((0, self.front.bands), np.uint16), *parts])
        cepstra = self._tables.cepstra
        return features if cepstra is None else cepstra_of(cepstra, features)

    def _features(
        self, samples: NDArray[np.int16], starts: NDArray[np.int64]
    ) -> NDArray[np.uint16]:
        frames = samples[starts[:, None] + np.arange(self.front.window)]
        made = spectra_of(self.front, self._tables, frames)
        clean = bands_of(self._tables, made.spectra, made.shifts)
        for i, bands in enumerate(clean):
            clean[i], self._estimate = cleaned(self._tables, bands, self._estimate)
        return features_of(self.front, clean)
