"""Which samples a small model answers alone: those whose best class is far enough ahead.

The margin is the greatest score less the second, as the network stores them: it takes no zero
point and no softmax, and two comparisons a class in C. A small model that answers a sample with a
margin of at least the threshold leaves the large one asleep.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.checks import require_real
from tinyrt.errors import DataError

ALWAYS, NEVER = 0, 256
"""Thresholds that every margin of int8 scores reaches, and none."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold, and what it did on the samples that it was chosen by.

    Attributes:
        threshold: the least margin that is enough, 0 to 256.
        accuracy: share of samples that are answered right.
        exits: share of samples that the first model answers.
        first_accuracy: of the first model alone.
        second_accuracy: of the second model alone.
        samples: how many there were.

    """

    threshold: int
    accuracy: float
    exits: float
    first_accuracy: float
    second_accuracy: float
    samples: int


def margins(scores: ArrayLike) -> NDArray[np.int32]:
    """How far the best class is ahead of the second: int8 (n, classes) -> int32 (n,), 0 to 255.

    Raises:
        DataError: the scores are no int8 of two classes or more.

    """
    x = np.asarray(scores)
    if x.dtype != np.int8 or x.ndim != 2 or x.shape[1] < 2:
        raise DataError(
            f"scores are {x.dtype} of the shape {list(x.shape)}",
            expected="int8 of the shape (samples, classes), two classes or more",
            hint="take the integers of the network's output, not their real values",
        )
    best = np.sort(x.astype(np.int32), axis=1)[:, -2:]
    return best[:, 1] - best[:, 0]


def choose_threshold(
    margin: NDArray[np.int32],
    first_right: NDArray[np.bool_],
    second_right: NDArray[np.bool_],
    *,
    accuracy: float | None = None,
    exits: float | None = None,
) -> Choice:
    """A threshold by what it does on samples: the one that saves most, or the most careful one.

    For an accuracy, that by which most samples stay with the first model. For a share of exits, the
    greatest one by which so many stay. Thresholds between two margins do the same to these
    samples; of them the greatest is taken, which is the most careful with others.

    Args:
        margin: of the first model, (n,).
        first_right: whether it answers a sample right, (n,).
        second_right: whether the second one does, (n,).
        accuracy: least share of right answers, 0 to 1; where neither is given, that of the second
            model alone.
        exits: least share of samples that the first model answers, 0 to 1.

    Raises:
        DataError: there are no samples, both are given, or no threshold reaches the accuracy.

    """
    count = len(margin)
    if not count:
        raise DataError("there are no samples to choose a threshold by", expected="at least one")
    if accuracy is not None and exits is not None:
        raise DataError(
            f"a threshold is to reach an accuracy of {accuracy} and exits of {exits}",
            expected="one of both",
            hint="ask for one, and look at what the choice says of the other",
        )
    tries = _tries(margin, first_right, second_right)
    if exits is not None:
        require_real(exits, 0, 1, "exits")
        return [each for each in tries if each.exits >= exits][-1]
    alone = float(second_right.mean())
    asked = alone if accuracy is None else accuracy
    require_real(asked, 0, 1, "accuracy")
    for each in tries:
        if each.accuracy >= asked:
            return each
    best = max(tries, key=lambda each: each.accuracy)
    raise DataError(
        f"no threshold reaches an accuracy of {asked:.2%}",
        expected=f"at most {best.accuracy:.2%}, which threshold {best.threshold} has on these "
        f"{count} samples",
        hint="ask for less, or take a better second model",
    )


def _tries(
    margin: NDArray[np.int32], first_right: NDArray[np.bool_], second_right: NDArray[np.bool_]
) -> list[Choice]:
    """What every threshold does that another would not do, as well, more carefully."""
    tries = []
    for threshold in (*np.unique(margin).tolist(), NEVER):
        stays = margin >= threshold
        right = np.where(stays, first_right, second_right)
        tries.append(
            Choice(
                threshold=threshold,
                accuracy=float(right.mean()),
                exits=float(stays.mean()),
                first_accuracy=float(first_right.mean()),
                second_accuracy=float(second_right.mean()),
                samples=len(margin),
            )
        )
    return tries
