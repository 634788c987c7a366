"""Norms of each sample by itself."""

from __future__ import annotations

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.train.core.module import Module, Parameter, require_channels
from tinyrt.train.core.tensor import Tensor


class LayerNorm(Module):
    """Per sample and position, zero mean and unit deviation over the last dimension.

    Ba, Kiros & Hinton 2016; then scaled and shifted per channel.

    Args:
        channels: size of the last dimension.
        epsilon: added to the variance.

    """

    def __init__(self, channels: int, *, epsilon: float = 1e-5) -> None:
        self.epsilon = epsilon
        self.gamma, self.beta = _scale(channels), _shift(channels)

    def forward(self, x: Tensor) -> Tensor:
        """(..., channels) -> the same shape."""
        require_channels(self, x, self.gamma.shape[0])
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        return centred * (variance + self.epsilon) ** -0.5 * self.gamma + self.beta


class GroupNorm(Module):
    """As layer norm, over positions and each of ``groups`` equal parts of the channels together.

    Wu & He 2018; one group is a layer norm over the whole sample, as many as channels are instance
    norms.

    Args:
        groups: parts of the channels.
        channels: size of the last dimension.
        epsilon: added to the variance.

    Raises:
        ShapeError: the groups do not divide the channels.

    """

    def __init__(self, groups: int, channels: int, *, epsilon: float = 1e-5) -> None:
        if channels % groups:
            what = f"{groups} groups do not divide {channels} channels"
            raise ShapeError(what, expected="a divisor of them")
        self.groups, self.epsilon = groups, epsilon
        self.gamma, self.beta = _scale(channels), _shift(channels)

    def forward(self, x: Tensor) -> Tensor:
        """(n, ..., channels) -> the same shape."""
        require_channels(self, x, self.gamma.shape[0])
        parts = x.reshape(x.shape[0], -1, self.groups, x.shape[-1] // self.groups)
        centred = parts - parts.mean((1, 3), keepdims=True)
        variance = (centred * centred).mean((1, 3), keepdims=True)
        y = (centred * (variance + self.epsilon) ** -0.5).reshape(x.shape)
        return y * self.gamma + self.beta


def _scale(count: int) -> Parameter:
    return Parameter(np.ones(count, np.float32))


def _shift(count: int) -> Parameter:
    return Parameter(np.zeros(count, np.float32))
