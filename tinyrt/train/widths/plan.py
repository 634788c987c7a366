"""Which layers get int4 weights, so that the file has no more bytes than it may have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tinyrt.errors import BudgetError
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph
from tinyrt.quantize import QuantConfig, calibrate
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.mixed.noise import measure_noise
from tinyrt.train.core.function import Array
from tinyrt.train.widths.choose import best_within
from tinyrt.train.widths.model import TwoWidthModel

Size = Callable[[Graph], int]
"""Bytes of a quantised graph's file."""


@dataclass(frozen=True, slots=True)
class LayerWidth:
    """The width of one layer's weights, and why.

    Attributes:
        name: the layer, by the output of its first op.
        op: that op's kind.
        bits: 8 or 4.
        saved: bytes of the file that int4 weights take less than int8 ones.
        noise: what int4 weights there, alone, add to the output's noise power, over the signal's.
        chance: of int8, as learned; None where it was not.

    """

    name: str
    op: str
    bits: int
    saved: int
    noise: float
    chance: float | None = None


class WidthPlan:
    """What each layer's int4 weights save and cost, and the best choice for a number of bytes.

    Args:
        model: the model, with int8 weights.
        size: bytes of a graph's file, as it will be written.
        max_bytes: that it may have.

    Attributes:
        whole: bytes with int8 weights everywhere.
        least: bytes with as many int4 weights as help.
        saved: layer -> the bytes that int4 weights save there.

    Raises:
        BudgetError: nothing is small enough; says how small it can be.

    """

    def __init__(self, model: TwoWidthModel, size: Size, max_bytes: int) -> None:
        self._model, self._size, self.max_bytes = model, size, max_bytes
        self.whole = self._bytes(())
        self.saved = {name: self.whole - self._bytes((name,)) for name in model.nodes_of}
        smallest = min(self._all(), key=self._bytes)
        self.least = self._bytes(smallest)
        if self.least > max_bytes:
            raise BudgetError(
                f"the file has {self.least:,} bytes at least, with int4 weights in "
                f"{len(smallest)} layers",
                expected=f"at most {max_bytes:,}",
                hint=f"--max-bytes {self.least}, --prune channels=0.5, or a smaller model",
            )

    @property
    def choosable(self) -> tuple[str, ...]:
        """Layers that are smaller with int4 weights."""
        return tuple(name for name, n in self.saved.items() if n > 0)

    @property
    def left(self) -> int:
        """Bytes that there are for int8 weights beyond int4 ones in all of ``choosable``."""
        return self.max_bytes - (self.whole - sum(self.saved[name] for name in self.choosable))

    @property
    def is_open(self) -> bool:
        """Whether there is room for the int8 weights of some layers, but not of all."""
        costs = [self.saved[name] for name in self.choosable]
        return bool(costs) and min(costs) <= self.left < sum(costs)

    def narrow(self, values: Mapping[str, float]) -> tuple[str, ...]:
        """Layers to have int4 weights, so that those with int8 ones are worth the most.

        The file that comes of it is measured, and the room taken as less where it is too large:
        what layers save adds up but for padding and the table of op versions.

        Args:
            values: layer -> what int8 weights are worth there, 0 or more.

        """
        if self.whole <= self.max_bytes:
            return ()
        names, left = self.choosable, self.left
        while left >= 0:
            wide = best_within([values[n] for n in names], [self.saved[n] for n in names], left)
            chosen = tuple(name for i, name in enumerate(names) if i not in wide)
            excess = self._bytes(chosen) - self.max_bytes
            if excess <= 0:
                return chosen
            left -= excess
        return min(self._all(), key=self._bytes)

    def _all(self) -> tuple[tuple[str, ...], ...]:
        """int4 in all layers that are smaller for it, and in all that have it."""
        return self.choosable, tuple(self.saved)

    def _bytes(self, narrow: Collection[str]) -> int:
        """Of the file with int4 weights in these layers."""
        self._model.settle(narrow)
        size = self._size(self._model.deployed())
        self._model.settle(())
        return size


def noise_by_layer(model: TwoWidthModel, data: Mapping[str, Array]) -> dict[str, float]:
    """Layer -> what int4 weights add there to the output's noise power, over the signal's.

    Args:
        model: the model.
        data: calibration inputs, by name.

    """
    config = QuantConfig(per_channel_dense=True)
    feeds = Model(model.graph).check_inputs(data)
    noise = measure_noise(model.graph, calibrate(model.graph, data), config, feeds).weights
    return {
        name: max(0.0, sum(noise[n][Scheme.INT4] - noise[n][Scheme.INT8] for n in outputs))
        for name, outputs in model.nodes_of.items()
    }
