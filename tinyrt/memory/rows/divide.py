"""Several memory regions for a model with segments: the region and the offset of each buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import BudgetError
from tinyrt.memory.regions import Region
from tinyrt.memory.rows.packing import Packing

Group = tuple[int, ...]
"""Buffers, by their numbers, that lie in one region."""


@dataclass(frozen=True, slots=True)
class Division:
    """Where every buffer lies.

    Attributes:
        region: of each buffer, its region's place in the order of cost.
        offsets: of each buffer, from its region's start.
        sizes: bytes used of each region.

    """

    region: list[int]
    offsets: list[int]
    sizes: list[int]


def divide(
    packing: Packing,
    together: Sequence[Sequence[int]],
    regions: Sequence[Region],
    traffic: Sequence[float],
    tries: int,
) -> Division:
    """Divide buffers among regions: those with the most traffic go to the first, fastest regions.

    Args:
        packing: what to place.
        together: sets of buffers, each of which must lie in one region; other buffers are free.
        regions: in the order of their cost, the cheapest to use first.
        traffic: for each buffer, bytes read and written per inference.
        tries: orders in which the buffers of each region are placed.

    Raises:
        BudgetError: the buffers do not fit.

    """
    overflow: list[BudgetError] = []
    for order in _orders(packing, together, traffic):
        try:
            return _fill(packing, regions, order, tries)
        except BudgetError as error:
            overflow.append(error)
    raise overflow[0]


def _orders(
    packing: Packing, together: Sequence[Sequence[int]], traffic: Sequence[float]
) -> list[list[Group]]:
    """Orders of groups for the first region, most urgent first: by traffic, then by size."""
    extents = packing.extents
    grouped = {i for group in together for i in group}
    alone = (i for i in range(len(extents.names)) if i not in grouped)
    groups = [tuple(group) for group in together if group] + [(i,) for i in alone]
    live = np.maximum(extents.high - extents.low, 0)

    def use(group: Group) -> float:
        nbytes = sum(extents.nbytes[i] for i in group)
        return -sum(traffic[i] for i in group) / max(nbytes, 1)

    def size(group: Group) -> float:
        return -int(live[list(group)].sum(axis=0).max())

    def span(group: Group) -> float:
        return -int(live[list(group)].sum())

    keys: list[Callable[[Group], float]] = [use, size, span]
    return [sorted(groups, key=lambda g: (key(g), g)) for key in keys]


def _fill(
    packing: Packing, regions: Sequence[Region], order: Sequence[Group], tries: int
) -> Division:
    remaining = list(order)
    sizes: list[int] = []
    places: dict[int, tuple[int, int]] = {}
    for r, memory in enumerate(regions):
        chosen = remaining if r == len(regions) - 1 else _that_fit(packing, memory, remaining)
        remaining = [group for group in remaining if group not in chosen]
        members = sorted(i for group in chosen for i in group)
        part = packing.part(members)
        at = part.pack(tries)
        sizes.append(part.size(at))
        if memory.nbytes is not None and sizes[r] > memory.nbytes:
            raise _too_small(part, memory, sizes[r])
        places |= {i: (r, at[position]) for position, i in enumerate(members)}
    placed = [places[i] for i in sorted(places)]
    return Division([r for r, _ in placed], [offset for _, offset in placed], sizes)


def _that_fit(packing: Packing, memory: Region, remaining: Sequence[Group]) -> list[Group]:
    """The groups, taken in this order, that a quick placement fits into the region."""
    if memory.nbytes is None:
        return list(remaining)
    chosen: list[Group] = []
    for group in remaining:
        part = packing.part(sorted(i for g in (*chosen, group) for i in g))
        if part.bound <= memory.nbytes and part.size(part.pack(0)) <= memory.nbytes:
            chosen.append(group)
    return chosen


def _too_small(part: Packing, memory: Region, needed: int) -> BudgetError:
    extents = part.extents
    at = int(part.live.argmax())
    live = {
        name: int(extents.high[i, at] - extents.low[i, at])
        for i, name in enumerate(extents.names)
        if extents.high[i, at] > extents.low[i, at]
    }
    names = ", ".join(f"'{name}' {n:,}" for name, n in sorted(live.items(), key=lambda k: -k[1]))
    return BudgetError(
        f"region '{memory.name}' would need {needed:,} bytes",
        tensor=f"kept in it at its fullest moment, in bytes: {names}",
        expected=f"at most {memory.nbytes:,}",
        hint="make a region larger, or add one: --region name=size",
    )
