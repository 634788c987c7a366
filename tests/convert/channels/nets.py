"""Integer nets that grow op by op, with channels that are constant or that nobody reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.graphs import Builder
from tinyrt.ir import DType, QParams, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.spec import Quant
from tinyrt.ops.transpose_conv import TransposeConvAttrs


class IntegerNet(Builder):
    """A builder of int8 or int16 graphs, with random weights of which many are 0.

    Args:
        shape: of the input.
        seed: of weights, scales and zero points.
        dtype: of activations.

    """

    def __init__(self, shape: Shape, seed: int = 0, dtype: DType = DType.INT8) -> None:
        super().__init__(shape)
        self.rng, self.dtype = np.random.default_rng(seed), dtype
        self.values["x"] = Value("x", dtype, shape, self.grid())

    def grid(self) -> QParams:
        """Some scale and zero point."""
        step, points = (0.05, [-128, 127, 0, 5]) if self.dtype is DType.INT8 else (1e-3, [0])
        return QParams(
            (float(np.float32(self.rng.uniform(step / 2, step))),), int(self.rng.choice(points))
        )

    def q(self, x: str) -> QParams:
        q = self.values[x].q
        assert q is not None
        return q

    def shape(self, x: str) -> Shape:
        return self.values[x].shape

    def op(
        self, op: str, inputs: Sequence[str], attrs: object = None, q: QParams | None = None
    ) -> str:
        """Append an op with the output's grid: the input's where it must be, else some other."""
        name = super().op(op, inputs, attrs)
        same = OPS[op].quant is Quant.SAME_AS_INPUT
        grid = q or (self.q(inputs[0]) if same else self.grid())
        if self.values[name].dtype is not DType.BOOL:
            self.values[name] = replace(self.values[name], q=grid)
        return name

    def number(self, shape: Shape, q: QParams | None = None) -> str:
        """A constant operand."""
        low, high = (-128, 127) if self.dtype is DType.INT8 else (-9000, 9000)
        data = self.rng.integers(low, high, shape, dtype=self.dtype.numpy)
        name = self.constant(data)
        self.values[name] = replace(self.values[name], q=q or self.grid())
        return name

    def weights(self, shape: Shape, axis: int, per_channel: bool = True) -> str:
        """Weights with rows and columns of zeros."""
        w = self.rng.integers(-20, 20, shape).astype(np.int8)
        for i in {axis, len(shape) - 1}:
            w[(slice(None),) * i + (self.rng.random(shape[i]) < 0.35,)] = 0
        name, count = self.constant(w), shape[axis] if per_channel else 1
        scales = tuple(float(np.float32(s)) for s in self.rng.uniform(0.01, 0.03, count))
        q = QParams(scales, 0, axis if per_channel else None)
        self.values[name] = replace(self.values[name], q=q)
        return name

    def bias(self, count: int, most: int = 4000) -> str:
        wide = np.int32 if self.dtype is DType.INT8 else np.int64
        name = self.constant(self.rng.integers(-most, most, count).astype(wide))
        self.values[name] = replace(self.values[name], q=QParams((1.0,)))
        return name

    def layer(self, op: str, x: str, w: str, attrs: object, count: int) -> str:
        """A layer, with a bias more often than not."""
        biases = (self.bias(count),) if self.rng.random() < 0.7 else ()
        return self.op(op, (x, w, *biases), attrs)

    def conv(self, x: str, count: int = 6, size: int = 1, groups: int = 1, **attrs: object) -> str:
        w = self.weights((count, size, size, self.shape(x)[-1] // groups), 0)
        return self.layer("conv2d", x, w, Conv2dAttrs(**attrs), count)

    def depthwise(self, x: str, times: int = 1, size: int = 3, **attrs: object) -> str:
        count = times * self.shape(x)[-1]
        w = self.weights((1, size, size, count), 3)
        return self.layer("depthwise_conv2d", x, w, DepthwiseConv2dAttrs(**attrs), count)

    def dense(self, x: str, count: int, row: int) -> str:
        w = self.weights((count, row), 0, per_channel=False)
        return self.layer("fully_connected", x, w, FullyConnectedAttrs(), count)

    def up(self, x: str, count: int) -> str:
        _, height, width, c = self.shape(x)
        w = self.weights((count, 3, 3, c), 0)
        attrs = TransposeConvAttrs((2 * height, 2 * width), (2, 2))
        return self.layer("transpose_conv", x, w, attrs, count)
