"""A sequence read from both ends."""

from __future__ import annotations

from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.functional import cat


class Bidirectional(Module):
    """One layer that reads a sequence from its begin, and one that reads it from its end.

    Schuster & Paliwal 1997. The outputs of a step stand side by side, the first layer's in front,
    as in PyTorch's ``bidirectional=True``.

    Args:
        ahead: a layer for sequences, (n, t, c_in) -> (n, t, c), as ``LSTM`` and ``GRU``.
        back: another one, of its own weights, with the same number of steps.

    """

    def __init__(self, ahead: Module, back: Module) -> None:
        self.ahead, self.back = ahead, back

    def forward(self, x: Tensor) -> Tensor:
        """(n, t, c_in) -> (n, t, c of both together)."""
        return cat([self.ahead(x), self.back(x[:, ::-1])[:, ::-1]], 2)
