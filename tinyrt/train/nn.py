"""Layers: modules that apply ops. Images are (n, h, w, c)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.window import Pair, pair
from tinyrt.train.activations import GELU as GELU
from tinyrt.train.activations import HardSwish as HardSwish
from tinyrt.train.activations import LeakyReLU as LeakyReLU
from tinyrt.train.activations import PReLU as PReLU
from tinyrt.train.activations import ReLU as ReLU
from tinyrt.train.activations import ReLU6 as ReLU6
from tinyrt.train.activations import Sigmoid as Sigmoid
from tinyrt.train.activations import SiLU as SiLU
from tinyrt.train.activations import Softmax as Softmax
from tinyrt.train.activations import Tanh as Tanh
from tinyrt.train.containers import ModuleDict as ModuleDict
from tinyrt.train.containers import ModuleList as ModuleList
from tinyrt.train.conv_transpose import ConvTranspose2d as ConvTranspose2d
from tinyrt.train.core.function import Array
from tinyrt.train.core.init import he_normal
from tinyrt.train.core.modes import LISTENER
from tinyrt.train.core.module import Buffer as Buffer
from tinyrt.train.core.module import Module as Module
from tinyrt.train.core.module import Parameter as Parameter
from tinyrt.train.core.module import Sequential as Sequential
from tinyrt.train.core.module import require_channels
from tinyrt.train.core.normalise import normalise_batch
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.norms import GroupNorm as GroupNorm
from tinyrt.train.norms import LayerNorm as LayerNorm
from tinyrt.train.padding import Padding, border_of
from tinyrt.train.padding import ZeroPad2d as ZeroPad2d
from tinyrt.train.pools import AvgPool2d as AvgPool2d
from tinyrt.train.pools import MaxPool2d as MaxPool2d


def _zeros(count: int) -> Array:
    return np.zeros(count, np.float32)


def _ones(count: int) -> Array:
    return np.ones(count, np.float32)


class Conv2d(Module):
    """Convolution of (n, h, w, c_in) to (n, h', w', c_out).

    Args:
        c_in: input channels.
        c_out: output channels.
        kernel: taps (height, width), or one number for both.
        stride: step between outputs.
        padding: SAME or VALID, as TFLite has it; or as PyTorch has it: 'same' or 'valid', or zeros
            on each side of height and width, one number or one for each.
        dilation: step between taps.
        groups: the channels are split into so many parts that do not see each other.
        bias: whether to add one number per output channel; pointless before a batch norm.
        rng: draws the weights, (c_out, kh, kw, c_in / groups).

    Raises:
        ShapeError: the groups do not divide the channels, or the padding is none.

    """

    def __init__(
        self,
        c_in: int,
        c_out: int,
        kernel: int | Pair,
        *,
        rng: np.random.Generator,
        stride: int | Pair = 1,
        padding: Padding = "SAME",
        dilation: int | Pair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        if c_in % groups or c_out % groups:
            what = f"{groups} groups do not divide {c_in} input and {c_out} output channels"
            raise ShapeError(what, expected="a divisor of both")
        kh, kw = pair(kernel)
        per_group = c_in // groups
        window = ((kh, kw), pair(stride), pair(dilation))
        padding, self.border = border_of(padding, *window)
        self.attrs = Conv2dAttrs(pair(stride), padding, pair(dilation))
        self.weight = he_normal(rng, (c_out, kh, kw, per_group), kh * kw * per_group)
        self.bias = Parameter(_zeros(c_out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(n, h, w, c_in) -> (n, h', w', c_out)."""
        x = x if self.border is None else self.border(x)
        return apply("conv2d", self.attrs, x, self.weight, self.bias)


class DepthwiseConv2d(Module):
    """One filter per output channel: (n, h, w, c) to (n, h', w', c * multiplier).

    Args:
        channels: input channels.
        kernel: taps (height, width), or one number for both.
        multiplier: output channels per input channel.
        stride: step between outputs.
        padding: SAME or VALID, as TFLite has it; or as PyTorch has it: 'same' or 'valid', or zeros
            on each side of height and width, one number or one for each.
        dilation: step between taps.
        bias: whether to add one number per output channel.
        rng: draws the weights, (1, kh, kw, c * multiplier).

    """

    def __init__(
        self,
        channels: int,
        kernel: int | Pair,
        *,
        rng: np.random.Generator,
        multiplier: int = 1,
        stride: int | Pair = 1,
        padding: Padding = "SAME",
        dilation: int | Pair = 1,
        bias: bool = True,
    ) -> None:
        kh, kw = pair(kernel)
        c_out = channels * multiplier
        window = ((kh, kw), pair(stride), pair(dilation))
        padding, self.border = border_of(padding, *window)
        self.attrs = DepthwiseConv2dAttrs(pair(stride), padding, pair(dilation))
        self.weight = he_normal(rng, (1, kh, kw, c_out), kh * kw)
        self.bias = Parameter(_zeros(c_out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(n, h, w, c) -> (n, h', w', c * multiplier)."""
        x = x if self.border is None else self.border(x)
        return apply("depthwise_conv2d", self.attrs, x, self.weight, self.bias)


class Linear(Module):
    """``x @ weight.T + bias`` along the last dimension: (..., k) to (..., c_out).

    Args:
        k: inputs.
        c_out: outputs.
        bias: whether to add one number per output.
        rng: draws the weights, (c_out, k).

    """

    def __init__(self, k: int, c_out: int, *, rng: np.random.Generator, bias: bool = True) -> None:
        self.weight = he_normal(rng, (c_out, k), k)
        self.bias = Parameter(_zeros(c_out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(..., k) -> (..., c_out)."""
        require_channels(self, x, self.weight.shape[1])
        attrs = FullyConnectedAttrs(keep_num_dims=x.ndim > 2)
        return apply("fully_connected", attrs, x, self.weight, self.bias)


class BatchNorm(Module):
    """Per channel, subtract the mean, divide by the deviation, then scale and shift.

    In training, mean and variance are the batch's; running averages of them serve the deployed
    model (Ioffe & Szegedy 2015).

    Args:
        channels: size of the last dimension.
        momentum: share of each batch in the running averages.
        epsilon: added to the variance.

    """

    def __init__(self, channels: int, *, momentum: float = 0.1, epsilon: float = 1e-3) -> None:
        self.momentum, self.attrs = momentum, BatchNormAttrs(epsilon)
        self.gamma, self.beta = Parameter(_ones(channels)), Parameter(_zeros(channels))
        self.mean, self.variance = Buffer(_zeros(channels)), Buffer(_ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """(..., channels) -> the same shape."""
        if self.training:
            return self._normalised(x)
        require_channels(self, x, self.gamma.shape[0])
        return apply("batch_norm", self.attrs, x, self.gamma, self.beta, self.mean, self.variance)

    def joint(self, after: Module) -> Callable[[Tensor], Tensor] | None:
        """With a ReLU in training, where nobody looks at what lies between."""
        alone = self.training and not self.observers and LISTENER.get() is None
        plain = type(self) is BatchNorm and type(after) is ReLU
        return partial(self._normalised, relu=True) if alone and plain else None

    def _normalised(self, x: Tensor, *, relu: bool = False) -> Tensor:
        require_channels(self, x, self.gamma.shape[0])
        y, stats = normalise_batch(x, self.gamma, self.beta, self.attrs.epsilon, relu=relu)
        count = x.data.size // x.shape[-1]
        unbiased = stats.variance * (count / max(1, count - 1))
        for average, value in ((self.mean, stats.mean), (self.variance, unbiased)):
            average.data = average.data + self.momentum * (value - average.data)
        return y


class GlobalAvgPool2d(Module):
    """The mean over height and width."""

    def forward(self, x: Tensor) -> Tensor:
        """(n, h, w, c) -> (n, c)."""
        return x.mean((1, 2))


class Flatten(Module):
    """All dimensions but the first as one."""

    def forward(self, x: Tensor) -> Tensor:
        """(n, ...) -> (n, k)."""
        return x.reshape(x.shape[0], -1)


class Dropout(Module):
    """In training, sets a random share of the elements to 0 and scales up the others.

    Srivastava et al. 2014, in the form that leaves the deployed model alone.

    Args:
        share: of the elements that are dropped, from 0 to less than 1.
        rng: draws which; the layer has its own copy.

    """

    def __init__(self, share: float, *, rng: np.random.Generator) -> None:
        self.share = share
        (self._rng,) = rng.spawn(1)

    def forward(self, x: Tensor) -> Tensor:
        """Any shape."""
        if not self.training or self.share == 0:
            return x
        mask = self._rng.random(x.shape) >= self.share
        return x * (mask / (1 - self.share))

    def random_state(self) -> Any:
        """The state of the generator that draws the dropped elements."""
        return self._rng.bit_generator.state

    def set_random_state(self, state: Any) -> None:
        """Draw from here on as from where ``random_state`` gave ``state``."""
        self._rng.bit_generator.state = state


class Residual(Module):
    """What two branches give for the same input, added up (He et al. 2016).

    Args:
        body: changes the input.
        shortcut: brings the input to the body's output shape; None where it has that.

    """

    def __init__(self, body: Module, shortcut: Module | None = None) -> None:
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Tensor) -> Tensor:
        """Any shape that both branches take."""
        return self.body(x) + (x if self.shortcut is None else self.shortcut(x))
