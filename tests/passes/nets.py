"""Weighted ops with random constants, for graphs built op by op."""

from __future__ import annotations

import numpy as np

from tests.graphs import Builder
from tinyrt.ir import Shape
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs

TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


class Net(Builder):
    """A builder with random weights."""

    def __init__(self, *inputs: Shape) -> None:
        super().__init__(*inputs)
        self.rng = np.random.default_rng(7)

    def random(self, *shape: int) -> str:
        return self.constant(self.rng.uniform(0.5, 1.5, shape).astype(np.float32))

    def channels(self, x: str) -> int:
        return self.values[x].shape[-1]

    def conv(self, x: str, c_out: int = 4, size: int = 3, bias: bool = True, **attrs) -> str:
        w = self.random(c_out, size, size, self.channels(x))
        inputs = (x, w, self.random(c_out)) if bias else (x, w)
        return self.op("conv2d", inputs, Conv2dAttrs(**attrs))

    def depthwise(self, x: str, **attrs) -> str:
        w = self.random(1, 3, 3, self.channels(x))
        return self.op("depthwise_conv2d", (x, w), DepthwiseConv2dAttrs(**attrs))

    def dense(self, x: str, c_out: int = 4, columns: int = 0) -> str:
        w = self.random(c_out, columns or self.channels(x))
        return self.op("fully_connected", (x, w), FullyConnectedAttrs())

    def batch_norm(self, x: str) -> str:
        parameters = [self.random(self.channels(x)) for _ in range(4)]
        return self.op("batch_norm", (x, *parameters), BatchNormAttrs(1e-3))

    def transpose(self, x: str, perm: tuple[int, ...]) -> str:
        return self.op("transpose", (x,), TransposeAttrs(perm))

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("reshape", (x,), ReshapeAttrs(shape))

    def softmax(self, x: str) -> str:
        """An op that is tied to the layout of its input."""
        return self.op("softmax", (x,), SoftmaxAttrs())
