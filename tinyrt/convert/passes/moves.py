"""Transposes of the fewest dimensions, and as several of fewer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

from tinyrt.convert.passes.common import permuted
from tinyrt.convert.passes.layouts import Perm
from tinyrt.ir import Shape


@dataclass(frozen=True, slots=True)
class Move:
    """A transpose of the fewest dimensions: neighbours that stay neighbours are one.

    Attributes:
        shape: the dimensions that are moved.
        perm: what moves them.

    """

    shape: Shape
    perm: Perm

    @classmethod
    def of(cls, shape: Sequence[int], perm: Sequence[int]) -> Move:
        """The move that a transpose makes."""
        large = [axis for axis, size in enumerate(shape) if size != 1]
        places = enumerate(large.index(axis) for axis in perm if shape[axis] != 1)
        runs = [[place for _, place in run] for _, run in groupby(places, lambda p: p[1] - p[0])]
        ordered = sorted(runs)
        sizes = (math.prod(shape[large[place]] for place in run) for run in ordered)
        return cls(tuple(sizes), tuple(ordered.index(run) for run in runs))

    @property
    def lines(self) -> int:
        """How often it goes on to neighbours that lie elsewhere than a step behind the last one."""
        moved, stays = permuted(self.shape, self.perm), self.perm[-1] == len(self.perm) - 1
        return math.prod(moved[: -2 if stays else -1])

    def in_parts(self, most: int) -> list[Move]:
        """Moves of at most so many dimensions, at least 4, that make this one together.

        Each but the last exchanges two blocks of dimensions, of which two become one by that.
        """
        if len(self.shape) <= most:
            return [self]
        first, rest = min(
            self._exchanges(),
            key=lambda pair: (max(len(pair[1].shape), most), sum(part.lines for part in pair)),
        )
        return [first, *rest.in_parts(most)]

    def _exchanges(self) -> Iterator[tuple[Move, Move]]:
        """Exchanges of neighbouring blocks, each with what is left to do then."""
        axes = range(len(self.shape))
        for low, middle, high in combinations((*axes, len(self.shape)), 3):
            order = (*axes[:low], *axes[middle:high], *axes[low:middle], *axes[high:])
            rest = tuple(order.index(axis) for axis in self.perm)
            yield Move.of(self.shape, order), Move.of(permuted(self.shape, order), rest)
