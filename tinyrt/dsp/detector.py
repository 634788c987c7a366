"""From the scores of a network, row by row, to decisions: smoothed, and each of them once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.checks import known, require, require_int
from tinyrt.errors import DataError

MAX_CLASSES, MAX_WINDOW, MAX_HOLD = 1 << 12, 1 << 12, 1 << 20

NONE = -1
"""What stands for no class."""


@dataclass(frozen=True, slots=True)
class Detector:
    """When scores of a class are high enough for long enough, as for a wake word.

    A row of scores comes with each inference. A class is detected where the mean of its last
    ``window`` scores reaches ``threshold`` and is the greatest of all classes that count (the first
    of equal ones), and ``hold`` rows must pass before the next detection. Sums of int8 are exact.

    Attributes:
        classes: scores of a row.
        window: rows that the mean is taken of; nothing is detected before there are so many.
        threshold: the least mean, on the scale of the scores as they are stored, int8.
        hold: rows behind a detection that have none.
        ignored: classes that are never detected: silence, unknown words.

    """

    classes: int
    window: int = 5
    threshold: int = 64
    hold: int = 20
    ignored: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_int(self.classes, 1, MAX_CLASSES, "classes")
        require_int(self.window, 1, MAX_WINDOW, "window")
        require_int(self.threshold, -128, 127, "threshold")
        require_int(self.hold, 0, MAX_HOLD, "hold")
        for one in self.ignored:
            require_int(one, 0, self.classes - 1, "ignored")
        counts = len(set(self.ignored)) < self.classes
        require(counts, "ignored", self.ignored, "a class that is not ignored, at least")

    @property
    def least(self) -> int:
        """The least sum of a window that is a detection."""
        return self.threshold * self.window

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return asdict(self) | {"ignored": list(self.ignored)}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Detector:
        """The detector of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is unknown or out of range.

        """
        made = dict(known(cls, options))
        require("classes" in made, "classes", None, f"a whole number, 1 to {MAX_CLASSES}")
        ignored = made.get("ignored", ())
        require(isinstance(ignored, list | tuple), "ignored", ignored, "a list of classes")
        return cls(**made | {"ignored": tuple(ignored)})


class DetectorStream:
    """A detector at work.

    Args:
        detector: what it decides by.

    """

    def __init__(self, detector: Detector) -> None:
        self.detector = detector
        ignored = np.zeros(detector.classes, np.bool_)
        ignored[list(detector.ignored)] = True
        self._ignored = ignored
        self.reset()

    def reset(self) -> None:
        """Begin anew: no rows, no detection."""
        self._rows: list[NDArray[np.int64]] = []
        self._silent = 0

    def push(self, scores: ArrayLike) -> NDArray[np.int32]:
        """int8 (rows, classes) -> the class that each row detects, int32 (rows,), -1 for none.

        Raises:
            DataError: the scores are no rows of int8, or of another number of classes.

        """
        x = np.asarray(scores)
        if x.dtype != np.int8 or x.ndim != 2 or x.shape[1] != self.detector.classes:
            raise DataError(
                f"scores are {x.dtype} of the shape {list(x.shape)}",
                expected=f"rows of {self.detector.classes} scores, int8",
                hint="take the integers of the network's output, not their real values",
            )
        return np.array([self._pushed(row) for row in x.astype(np.int64)], np.int32)

    def _pushed(self, row: NDArray[np.int64]) -> int:
        d = self.detector
        self._rows = [*self._rows, row][-d.window :]
        if self._silent:
            self._silent -= 1
            return NONE
        if len(self._rows) < d.window:
            return NONE
        sums = np.where(self._ignored, np.iinfo(np.int64).min, np.sum(self._rows, axis=0))
        best = int(sums.argmax())
        if sums[best] < d.least:
            return NONE
        self._silent = d.hold
        return best
