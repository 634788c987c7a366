"""The greatest scores of a network, in their order: exact, since nothing is rounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.checks import known, require, require_int
from tinyrt.errors import DataError

MAX_SIZE = 1 << 20
"""Most scores that are looked through."""


@dataclass(frozen=True, slots=True)
class TopK:
    """The ``k`` greatest of ``size`` scores that reach a threshold, the greatest first.

    Of equal ones, that with the lower place comes first.

    Attributes:
        size: scores of a row.
        k: how many places at most.
        threshold: the least score, as it is stored, int8.

    """

    size: int
    k: int = 5
    threshold: int = -128

    def __post_init__(self) -> None:
        require_int(self.size, 1, MAX_SIZE, "size")
        require_int(self.k, 1, MAX_SIZE, "k")
        require_int(self.threshold, -128, 127, "threshold")

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> TopK:
        """The value of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is missing, unknown or out of range.

        """
        made = known(cls, options)
        require("size" in made, "size", None, f"a whole number, 1 to {MAX_SIZE}")
        return cls(**made)

    def find(self, scores: ArrayLike) -> NDArray[np.int32]:
        """int8 (size,) -> places, int32 (m,), m at most k.

        Raises:
            DataError: the scores are no int8, or another number of them.

        """
        x = stored(scores, (self.size,), "scores")
        order = np.argsort(-x.astype(np.int32), kind="stable")[: self.k]
        return order[x[order] >= self.threshold].astype(np.int32)


def stored(array: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.int8]:
    """What a network has stored: int8 of that shape.

    Raises:
        DataError: it is something else.

    """
    x = np.asarray(array)
    if x.dtype != np.int8 or x.shape != shape:
        raise DataError(
            f"{name} are {x.dtype} of the shape {list(x.shape)}",
            expected=f"int8 of the shape {list(shape)}",
            hint="take the integers of the network's output, not their real values",
        )
    return x
