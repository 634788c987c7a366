"""The choice of layers that brings the most for the bytes there are."""

from __future__ import annotations

from collections.abc import Sequence


def best_within(values: Sequence[float], costs: Sequence[int], left: int) -> tuple[int, ...]:
    """The indices of greatest total value whose costs add up to ``left`` at most.

    Exact: partial choices are kept unless another one costs no more and is worth as much
    (Nemhauser & Ullmann 1969). Of equal choices, the first in order.

    Args:
        values: of each item, 0 or more.
        costs: of each item, above 0.
        left: what all may cost.

    """
    kept: list[tuple[int, float, tuple[int, ...]]] = [(0, 0.0, ())]
    for i, (value, cost) in enumerate(zip(values, costs, strict=True)):
        added = [(c + cost, v + value, (*w, i)) for c, v, w in kept if c + cost <= left]
        kept = _undominated(sorted([*kept, *added], key=lambda t: (t[0], -t[1], t[2])))
    return kept[-1][2]


def _undominated(
    choices: Sequence[tuple[int, float, tuple[int, ...]]],
) -> list[tuple[int, float, tuple[int, ...]]]:
    """Of choices by rising cost, those that are worth more than all cheaper ones."""
    best: list[tuple[int, float, tuple[int, ...]]] = []
    for choice in choices:
        if not best or choice[1] > best[-1][1]:
            best.append(choice)
    return best
