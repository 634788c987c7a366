"""The adjoint of a convolution as a layer."""

from __future__ import annotations

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ops.shared.window import Pair, pair
from tinyrt.ops.transpose_conv import TransposeConvAttrs
from tinyrt.train.core.init import he_normal
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.padding import Padding, zeros_of


class ConvTranspose2d(Module):
    """The adjoint of a convolution: (n, h, w, c_in) to (n, h * stride, w * stride, c_out).

    Each input element adds its multiple of the kernel to the output. With padding p in place of
    SAME, an extent h becomes ``(h - 1) * stride - 2 * p + kernel + output_padding``.

    Args:
        c_in: input channels.
        c_out: output channels.
        kernel: taps (height, width), or one number for both; with SAME at least the stride.
        stride: step between the places where inputs are added.
        padding: SAME or VALID, as TFLite has it; or PyTorch's: what is cut off each side of height
            and width, one number or one for each.
        output_padding: what is kept at the far end beside that, less than the stride.
        bias: whether to add one number per output channel.
        rng: draws the weights, (c_out, kh, kw, c_in).

    Raises:
        ShapeError: the padding is none, or the output's is not below the stride or stands with
            SAME.

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
        output_padding: int | Pair = 0,
        bias: bool = True,
    ) -> None:
        (kh, kw), self.stride = pair(kernel), pair(stride)
        self.cut = None if padding == "SAME" else _cut(padding)
        self.kept = pair(output_padding)
        steps = zip(self.kept, (1, 1) if self.cut is None else self.stride, strict=True)
        if any(not 0 <= kept < step for kept, step in steps):
            raise ShapeError(
                f"output_padding is {output_padding} with stride {stride} and padding {padding}",
                expected="from 0 to less than the stride, and 0 with SAME",
            )
        fan_in = kh * kw * c_in // (self.stride[0] * self.stride[1])
        self.weight = he_normal(rng, (c_out, kh, kw, c_in), max(1, fan_in))
        self.bias = Parameter(np.zeros(c_out, np.float32)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(n, h, w, c_in) -> (n, h', w', c_out), by default (n, h * stride, w * stride, c_out).

        Raises:
            ShapeError: the padding cuts everything off.

        """
        if self.cut is None:
            size = (x.shape[1] * self.stride[0], x.shape[2] * self.stride[1])
            attrs = TransposeConvAttrs(size, self.stride)
            return apply("transpose_conv", attrs, x, self.weight, self.bias)
        taps = (x.shape[1:3], self.stride, self.weight.shape[1:3], self.kept)
        height, width = ((n - 1) * s + k + kept for n, s, k, kept in zip(*taps, strict=True))
        attrs = TransposeConvAttrs((height, width), self.stride, "VALID")
        y = apply("transpose_conv", attrs, x, self.weight, self.bias)
        top, left = self.cut
        if height <= 2 * top or width <= 2 * left:
            raise ShapeError(
                f"a padding of {self.cut} cuts off all of an output of {height} by {width}",
                expected="less than half of it",
            )
        return y if self.cut == (0, 0) else y[:, top : height - top, left : width - left]


def _cut(padding: Padding) -> Pair:
    """What is cut off each side."""
    if isinstance(padding, str):
        if padding.upper() != "VALID":
            raise ShapeError(
                f"padding of a transposed convolution is '{padding}'",
                expected="SAME or VALID as in TFLite, 'valid', or what is cut off, as 1 or (1, 2)",
            )
        return 0, 0
    return zeros_of(padding)
