"""Gates: how likely each layer is to have the wider weights, within a number of bytes.

A layer's weights are mixed from both widths, ``chance * wide + (1 - chance) * narrow``, so that the
loss says what the wider ones are worth (Cai & Vasconcelos 2020, "Rethinking Differentiable Search
for Mixed-Precision Neural Networks", section 4.2). The budget needs no penalty in the loss, and no
weight for one. What is learned is what a byte is worth in each layer, as a logarithm. The odds of
the wider weights are that worth over the price of a byte, and the price is the one at which the
bytes expected are those that there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import constant
from tinyrt.train.core.function import Array, Function, Gradient
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, apply

HALVINGS = 60
"""Of the interval that the price is in."""
LEAST = 1e-30
"""What a sum of slopes counts as where all chances are 0 or 1."""
LEAST_WORTH = 1e-4
"""Of the most that any layer is worth: what less counts as."""


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """What the wider weights cost, and how much there is for them.

    Attributes:
        bytes: of each layer, (layers,), above 0: what its wider weights take more.
        left: bytes for all of them together, above 0 and below their sum.
        temperature: what log-odds are divided by; near 0, chances are 0 or 1.

    """

    bytes: NDArray[np.float64]
    left: float
    temperature: float = 1.0

    def log_price(self, log_worth: NDArray[np.float64]) -> float:
        """That at which the bytes expected are those that are left."""
        low, high = -1.0, 1.0
        while self._expected(log_worth, low) < self.left:
            low *= 2
        while self._expected(log_worth, high) > self.left:
            high *= 2
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            is_cheap = self._expected(log_worth, middle) > self.left
            low, high = (middle, high) if is_cheap else (low, middle)
        return high

    def _expected(self, log_worth: NDArray[np.float64], log_price: float) -> float:
        return float(self.bytes @ self.chances(log_worth, log_price))

    def chances(self, log_worth: NDArray[np.float64], log_price: float) -> NDArray[np.float64]:
        """``1 / (1 + exp((log_price - log_worth) / temperature))``."""
        exponent = (log_price - log_worth) / self.temperature
        odds: NDArray[np.float64] = elementary.exp(np.clip(exponent, -80, 80))
        return 1 / (1 + odds)


def _chances(room: Room, log_worth: Array) -> Array:
    wide = log_worth.astype(np.float64)
    return room.chances(wide, room.log_price(wide)).astype(log_worth.dtype)


def _chances_vjp(
    room: Room, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """With ``s = p (1 - p) / T``: ``dl = s * (g - c * bytes)``, ``c = sum(g s) / sum(bytes s)``.

    The price moves with what bytes are worth, so that the bytes expected stay (implicit
    differentiation): ``c`` is the mean of what a byte would bring.
    """
    del inputs
    chance = constant(output).astype(np.float64)
    slope = chance * (1 - chance) / room.temperature
    mean = float(constant(grad) @ slope) / max(float(room.bytes @ slope), LEAST)
    return ((slope * (constant(grad) - mean * room.bytes)).astype(output.dtype),)


CHANCES = Function("chances", _chances, _chances_vjp)


class Gates(Module):
    """What a byte of wider weights is worth in each layer, learned.

    Args:
        bytes: of each layer: what its wider weights take more.
        left: bytes for all of them together; above 0, less than their sum.
        worth: of each layer's wider weights, to start from, 0 or more; only ratios count.

    """

    def __init__(self, bytes: Sequence[int], left: int, worth: Sequence[float]) -> None:
        self.room = Room(np.asarray(bytes, np.float64), float(left))
        dear = np.maximum(np.asarray(worth, np.float64), LEAST_WORTH * max(*worth, LEAST))
        logs = elementary.log(dear / self.room.bytes)
        self.log_worth = Parameter((logs - logs.mean()).astype(np.float32))

    @property
    def worth(self) -> list[float]:
        """Of each layer's wider weights; only ratios count."""
        a_byte = elementary.exp(self.log_worth.data.astype(np.float64))
        return [float(n) for n in self.room.bytes * a_byte]

    def at(self, temperature: float) -> Gates:
        """Set what log-odds are divided by; gives the gates."""
        self.room = replace(self.room, temperature=temperature)
        return self

    def forward(self) -> Tensor:
        """The chances of the wider weights, (layers,)."""
        return apply(CHANCES, self.room, self.log_worth)
