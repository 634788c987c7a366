"""Which channels a model's tensors have lost, so that it can be compared with the whole model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.channels.links import Kept
from tinyrt.convert.values.interval import Bounds
from tinyrt.ir import Graph, QParams


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """The channels of one tensor.

    Attributes:
        kept: which of the whole tensor's channels are left.
        constants: float64, of the whole tensor: what a lost channel held at all times, as it is
            stored; NaN where it varied, and for channels that are left.

    """

    kept: Kept
    constants: NDArray[np.float64]

    def held(self, q: QParams | None) -> NDArray[np.float64]:
        """(channels,) what lost channels held, as real values; NaN as in ``constants``.

        Args:
            q: how the tensor is stored; None for floats.

        """
        return self.constants if q is None else (self.constants - q.zero_point) * q.scale

    def without(self, kept: Kept, bounds: Bounds) -> Lost:
        """The same with only these of the channels that were left."""
        left = np.flatnonzero(self.kept)
        kept_now, constants = self.kept.copy(), self.constants.copy()
        kept_now[left] = kept
        known = ~kept & bounds.constant
        constants[left[known]] = bounds.low[known]
        return Lost(kept_now, constants)


LostChannels = dict[str, Lost]
"""Name of a tensor -> its channels, for tensors that have lost any."""


def note_lost(lost: LostChannels, keeps: Mapping[str, Kept], bounds: Mapping[str, Bounds]) -> None:
    """Add channels that go now to those that went before.

    Args:
        lost: what went before; changed in place.
        keeps: name of a tensor -> which of its channels stay.
        bounds: of these tensors.

    """
    for name, kept in keeps.items():
        if not kept.all():
            nothing = Lost(np.ones(len(kept), np.bool_), np.full(len(kept), np.nan))
            lost[name] = lost.get(name, nothing).without(kept, bounds[name])


def still_lost(lost: Mapping[str, Lost], graph: Graph) -> LostChannels:
    """Those entries that are about a tensor of the graph."""
    return {
        name: entry
        for name, entry in lost.items()
        if name in graph.values and graph.value(name).shape[-1:] == (int(entry.kept.sum()),)
    }
