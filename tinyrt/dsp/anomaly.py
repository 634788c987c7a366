"""How badly an autoencoder reconstructs what it sees, in integers, and when that is an alarm.

The input and the output of a network have scales of their own. Multipliers of 12 bits bring both to
one unit, the coarser scale by ``2**12``; a difference, rounded to ``2**7`` parts of that scale, has
16 bits and a sign, its square 32 bits, and the sum of ``n`` squares is exact in 64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp.checks import known, require, require_int, require_real

MULT_BITS, SHIFT = 12, 5
MAX_SIZE, MAX_CONSECUTIVE = 1 << 20, 1 << 20
MAX_LIMIT = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class Anomaly:
    """An alarm where the input is far from the output, as of an autoencoder.

    Attributes:
        threshold: the mean squared error that is still normal, in the network's real units.
        consecutive: answers above it, one after the other, that are an alarm.

    """

    threshold: float
    consecutive: int = 1

    def __post_init__(self) -> None:
        require_real(self.threshold, 0, 1e12, "threshold")
        require_int(self.consecutive, 1, MAX_CONSECUTIVE, "consecutive")

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Anomaly:
        """The alarm of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is unknown or out of range.

        """
        made = known(cls, options)
        require("threshold" in made, "threshold", None, "a number, 0 to 1e12")
        return cls(**made)


@dataclass(frozen=True, slots=True)
class AnomalyNumbers:
    """The integers of an alarm at its network.

    Attributes:
        size: numbers of the input, and of the output.
        x_zp: the input's zero point.
        y_zp: the output's.
        x_mult: what the input is multiplied by.
        y_mult: what the output is.
        limit: the largest sum of squares that is normal.
        scale: the mean squared error of a sum of squares of 1.
        consecutive: as of ``Anomaly``.

    """

    size: int
    x_zp: int
    y_zp: int
    x_mult: int
    y_mult: int
    limit: int
    scale: float
    consecutive: int


def numbers_of(
    anomaly: Anomaly, size: int, x: tuple[float, int], y: tuple[float, int]
) -> AnomalyNumbers:
    """The integers of an alarm.

    Args:
        anomaly: when there is one.
        size: numbers of the input, and of the output; at most ``MAX_SIZE``.
        x: scale and zero point of the input.
        y: those of the output.

    """
    coarser = max(x[0], y[0])
    x_mult, y_mult = (round(side[0] / coarser * 2**MULT_BITS) for side in (x, y))
    scale = (coarser * 2.0 ** (SHIFT - MULT_BITS)) ** 2 / size
    limit = int(min(anomaly.threshold / scale, MAX_LIMIT))
    return AnomalyNumbers(size, x[1], y[1], x_mult, y_mult, limit, scale, anomaly.consecutive)


class AnomalyStream:
    """An alarm at work.

    Args:
        numbers: its integers.

    """

    def __init__(self, numbers: AnomalyNumbers) -> None:
        self.numbers = numbers
        self.reset()

    def reset(self) -> None:
        """Begin anew: nothing was above the threshold."""
        self._above = 0

    def push(
        self, x: NDArray[np.int8], y: NDArray[np.int8]
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Inputs and outputs int8 (n, size) -> sums of squares, and whether each is an alarm."""
        n, half = self.numbers, 1 << SHIFT >> 1
        seen = (x.astype(np.int64) - n.x_zp) * n.x_mult - (y.astype(np.int64) - n.y_zp) * n.y_mult
        differences = (seen + half) >> SHIFT
        sums = (differences**2).sum(axis=1).astype(np.uint64)
        return sums, np.array([self._pushed(int(s)) for s in sums], np.bool_)

    def _pushed(self, total: int) -> bool:
        # It is not counted further than to an alarm, so that the count never overflows.
        is_above = total > self.numbers.limit
        self._above = min(self._above + 1, self.numbers.consecutive) if is_above else 0
        return self._above == self.numbers.consecutive
