"""Activations: layers that change each element by itself, and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.train.core.module import Module, Parameter, require_channels
from tinyrt.train.core.tensor import Tensor, apply


class _Op(Module):
    """One op on one tensor, whose shape it keeps."""

    op: str
    attrs: Any = NoAttrs()

    def forward(self, x: Tensor) -> Tensor:
        """Any shape."""
        return apply(self.op, self.attrs, x)


class ReLU(_Op):
    """``max(x, 0)``."""

    op = "relu"


class ReLU6(_Op):
    """``min(max(x, 0), 6)``: bounded, so that int8 steps stay fine."""

    op = "relu6"


class LeakyReLU(_Op):
    """``x``, or ``slope * x`` where that is greater."""

    op = "leaky_relu"

    def __init__(self, slope: float = 0.01) -> None:
        self.attrs = LeakyReluAttrs(slope)


class Sigmoid(_Op):
    """``1 / (1 + exp(-x))``."""

    op = "logistic"


class Tanh(_Op):
    """Hyperbolic tangent."""

    op = "tanh"


class HardSwish(_Op):
    """``x * min(max(x + 3, 0), 6) / 6`` (Howard et al. 2019)."""

    op = "hard_swish"


class Softmax(_Op):
    """Probabilities from logits, along the last dimension."""

    op, attrs = "softmax", SoftmaxAttrs()


class SiLU(Module):
    """``x`` times its sigmoid (Elfwing et al. 2018), also called swish."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape."""
        return x * apply("logistic", NoAttrs(), x)


class GELU(_Op):
    """``x`` times the share of a normal distribution below it (Hendrycks & Gimpel 2016).

    Args:
        approximate: by tanh, as in the paper's section 2, in place of the error function.

    """

    op = "gelu"

    def __init__(self, approximate: bool = False) -> None:
        self.attrs = GeluAttrs(approximate)


class PReLU(Module):
    """``x`` where it is positive, elsewhere times a trained slope of its channel (He et al. 2015).

    Args:
        channels: size of the last dimension.
        slope: of all channels at the start.

    """

    def __init__(self, channels: int, slope: float = 0.25) -> None:
        self.slope = Parameter(np.full(channels, slope, np.float32))

    def forward(self, x: Tensor) -> Tensor:
        """(..., channels) -> the same shape.

        Raises:
            ShapeError: the last dimension is another.

        """
        require_channels(self, x, self.slope.shape[0])
        return apply("prelu", NoAttrs(), x, self.slope)
