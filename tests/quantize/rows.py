"""Small float networks of ops in a row: every op that the quantiser takes, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from tests.graphs import Builder
from tinyrt.ir import Graph, Shape
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.repeat import TileAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

SHAPE = (1, 4, 4, 6)
MOST = 600
"""Elements of a tensor beyond which ops that make more leave it as it is."""


class Net(Builder):
    """A network that takes one image; weights are random, ``gain`` times as large as usual."""

    def __init__(self, seed: int, gain: float = 1.0) -> None:
        super().__init__(SHAPE)
        self.rng, self.gain = np.random.default_rng(seed), gain

    def shape(self, name: str) -> Shape:
        """A tensor's shape."""
        return self.values[name].shape

    def normal(self, *shape: int, scale: float = 1.0, middle: float = 0.0) -> str:
        """A constant of random numbers."""
        return self.constant((self.rng.normal(middle, scale, shape)).astype(np.float32))

    def weights(self, *shape: int, channels: int, fan_in: int) -> tuple[str, str]:
        """Weights and biases of a layer."""
        w = self.normal(*shape, scale=self.gain / np.sqrt(fan_in))
        return w, self.normal(channels, scale=0.3 * self.gain)

    def image(self, x: str) -> str:
        """The tensor with four dimensions."""
        n, *middle, c = self.shape(x)
        ones = (1,) * (2 - len(middle))
        return self.op("reshape", (x,), ReshapeAttrs((n, *ones, *middle, c))) if ones else x


Step = Callable[[Net, str], str]


def plain(op: str, attrs: object = None) -> Step:
    """An op of one tensor of any shape."""
    return lambda b, x: b.op(op, (x,), attrs)


def with_number(op: str, attrs: object = None, scale: float = 1.0, middle: float = 0.0) -> Step:
    """The tensor and one number for each channel."""
    return lambda b, x: b.op(op, (x, b.normal(b.shape(x)[-1], scale=scale, middle=middle)), attrs)


def with_layer(op: str, attrs: object = None) -> Step:
    """The tensor and what a layer makes of it."""
    return lambda b, x: b.op(op, (x, dense(b, x, b.shape(x)[-1])), attrs)


def dense(b: Net, x: str, count: int = 5) -> str:
    c = b.shape(x)[-1]
    w = b.weights(count, c, channels=count, fan_in=c)
    return b.op("fully_connected", (x, *w), FullyConnectedAttrs(keep_num_dims=True))


def conv(b: Net, x: str) -> str:
    x = b.image(x)
    c = b.shape(x)[-1]
    w = b.weights(6, 3, 3, c, channels=6, fan_in=9 * c)
    return b.op("conv2d", (x, *w), Conv2dAttrs(padding="SAME"))


def pixelwise(b: Net, x: str) -> str:
    x = b.image(x)
    c = b.shape(x)[-1]
    return b.op("conv2d", (x, *b.weights(6, 1, 1, c, channels=6, fan_in=c)), Conv2dAttrs())


def depthwise(b: Net, x: str) -> str:
    x = b.image(x)
    c = b.shape(x)[-1]
    w = b.weights(1, 3, 3, c, channels=c, fan_in=9)
    return b.op("depthwise_conv2d", (x, *w), DepthwiseConv2dAttrs(padding="SAME"))


def upwards(b: Net, x: str) -> str:
    x = b.image(x)
    _, h, w, c = b.shape(x)
    if prod(b.shape(x)) * 4 > MOST:
        return x
    weights, bias = b.weights(4, 2, 2, c, channels=4, fan_in=c)
    attrs = TransposeConvAttrs((2 * h, 2 * w), (2, 2))
    return b.op("transpose_conv", (x, weights, bias), attrs)


def pool(op: str) -> Step:
    return lambda b, x: b.op(op, (b.image(x),), Pool2dAttrs((2, 2), padding="SAME"))


def over(op: str, kind: type[MeanAttrs], where: str, *, keep: bool = False) -> Step:
    """A reduction over places, or over channels, which stay as one then."""

    def step(b: Net, x: str) -> str:
        rank = len(b.shape(x))
        if where == "channels":
            return b.op(op, (x,), kind((rank - 1,), keep_dims=True))
        if rank < 3:
            return x
        return b.op(op, (x,), kind(tuple(range(1, rank - 1)), keep_dims=keep))

    return step


def padded(b: Net, x: str) -> str:
    x = b.image(x)
    if prod(b.shape(x)) > MOST:
        return x
    return b.op("pad", (x,), PadAttrs(((0, 0), (1, 0), (0, 1), (0, 0))))


def mirrored(b: Net, x: str) -> str:
    x = b.image(x)
    if prod(b.shape(x)) > MOST:
        return x
    attrs = MirrorPadAttrs(((0, 0), (1, 0), (0, 0), (0, 0)), "SYMMETRIC")
    return b.op("mirror_pad", (x,), attrs)


def resized(op: str) -> Step:
    def step(b: Net, x: str) -> str:
        x = b.image(x)
        _, h, w, _ = b.shape(x)
        return b.op(op, (x,), ResizeAttrs((max(h - 1, 2), w + 1 if w < 8 else w)))

    return step


def turned(b: Net, x: str) -> str:
    rank = len(b.shape(x))
    if rank < 3:
        return x
    return b.op("transpose", (x,), TransposeAttrs((0, *range(2, rank), 1)))


def halved(b: Net, x: str) -> str:
    shape = b.shape(x)
    axis = len(shape) - 1
    if shape[-1] < 2:
        return x
    size = (*shape[:-1], shape[axis] - 1)
    begin = tuple(int(i == axis) for i in range(len(shape)))
    return b.op("slice", (x,), SliceAttrs(begin, size, (1,) * len(shape)))


def gathered(b: Net, x: str) -> str:
    axis = len(b.shape(x)) - 1
    return b.op("gather", (x,), GatherAttrs(axis, (0, b.shape(x)[-1] - 1, 0), (3,)))


def flat(b: Net, x: str) -> str:
    return b.op("reshape", (x,), ReshapeAttrs((1, prod(b.shape(x)))))


def tiled(b: Net, x: str) -> str:
    shape = b.shape(x)
    if prod(shape) * 2 > MOST:
        return x
    return b.op("tile", (x,), TileAttrs((*(1,) * (len(shape) - 1), 2)))


def blocks(b: Net, x: str) -> str:
    x = b.image(x)
    _, h, w, c = b.shape(x)
    if c % 4 == 0:
        return b.op("depth_to_space", (x,), BlockAttrs(2))
    return b.op("space_to_depth", (x,), BlockAttrs(2)) if h % 2 == w % 2 == 0 else x


def joined(b: Net, x: str) -> str:
    other = dense(b, x)
    return b.op("concatenation", (x, other), ConcatenationAttrs(len(b.shape(x)) - 1))


def batch_norm(b: Net, x: str) -> str:
    c = b.shape(x)[-1]
    gamma, beta, mean = (b.normal(c, scale=0.3, middle=m) for m in (1, 0, 0))
    var = b.constant(b.rng.uniform(0.5, 2, c).astype(np.float32))
    return b.op("batch_norm", (x, gamma, beta, mean, var), BatchNormAttrs())


def layer_norm(b: Net, x: str) -> str:
    c, axes = b.shape(x)[-1], (len(b.shape(x)) - 1,)
    mean = b.op("mean", (x,), MeanAttrs(axes, keep_dims=True))
    centred = b.op("sub", (x, mean), AddAttrs())
    power = b.op("mul", (centred, centred), MulAttrs())
    variance = b.op("mean", (power,), MeanAttrs(axes, keep_dims=True))
    safe = b.op("add", (variance, b.constant(np.full(1, 1e-3, np.float32))), AddAttrs())
    y = b.op("mul", (centred, b.op("rsqrt", (safe,))), MulAttrs())
    y = b.op("mul", (y, b.normal(c, scale=0.3, middle=1)), MulAttrs())
    return b.op("add", (y, b.normal(c, scale=0.3)), AddAttrs())


def attention(b: Net, x: str) -> str:
    n, c = prod(b.shape(x)[:-1]), b.shape(x)[-1]
    rows = b.op("reshape", (x,), ReshapeAttrs((1, n, c)))
    q, k, v = (dense(b, rows, 4) for _ in range(3))
    scores = b.op("batch_matmul", (q, k), BatchMatmulAttrs(adj_y=True))
    shares = b.op("softmax", (scores,), SoftmaxAttrs())
    return b.op("batch_matmul", (shares, v), BatchMatmulAttrs())


def swish(b: Net, x: str) -> str:
    return b.op("mul", (x, b.op("logistic", (x,))), MulAttrs())


def masked(b: Net, x: str) -> str:
    """Scores with some positions hidden, and their shares."""
    hidden = np.where(b.rng.random(b.shape(x)) < 0.3, -1e9, 0).astype(np.float32)
    hidden[..., 0] = 0
    return b.op("softmax", (b.op("add", (x, b.constant(hidden)), AddAttrs()),), SoftmaxAttrs())


def positive(op: str) -> Step:
    """A function of what is well above zero."""

    def step(b: Net, x: str) -> str:
        above = b.op("add", (b.op("abs", (x,)), b.constant(np.float32([0.5]))), AddAttrs())
        return b.op(op, (above,))

    return step


def quotient(b: Net, x: str) -> str:
    above = b.op(
        "add",
        (b.op("abs", (dense(b, x, b.shape(x)[-1]),)), b.constant(np.float32([1]))),
        AddAttrs(),
    )
    return b.op("div", (x, above), DivAttrs())


FUNCTIONS = (
    *("relu", "relu6", "relu_n1_to_1", "relu_0_to_1", "logistic", "tanh", "elu", "hard_swish"),
    *("exp", "abs", "neg", "square", "sin", "cos", "erf"),
)
STEPS: dict[str, Step] = {
    "dense": dense,
    "conv": conv,
    "pixelwise": pixelwise,
    "depthwise": depthwise,
    "transpose_conv": upwards,
    "average_pool2d": pool("average_pool2d"),
    "max_pool2d": pool("max_pool2d"),
    "mean": over("mean", MeanAttrs, "places"),
    "mean kept": over("mean", MeanAttrs, "places", keep=True),
    "mean of channels": over("mean", MeanAttrs, "channels"),
    "sum": over("sum", ReduceAttrs, "places"),
    "sum of channels": over("sum", ReduceAttrs, "channels"),
    "reduce_max": over("reduce_max", ReduceAttrs, "places"),
    "reduce_min": over("reduce_min", ReduceAttrs, "places"),
    "reduce_max of channels": over("reduce_max", ReduceAttrs, "channels"),
    "add": with_layer("add", AddAttrs()),
    "sub": with_layer("sub", AddAttrs()),
    "mul": with_layer("mul", MulAttrs()),
    "add a number": with_number("add", AddAttrs()),
    "sub a number": with_number("sub", AddAttrs()),
    "mul by a number": with_number("mul", MulAttrs()),
    "div by a number": with_number("div", DivAttrs(), 0.3, 2.0),
    "div": quotient,
    "squared_difference": with_layer("squared_difference"),
    "minimum": with_layer("minimum"),
    "maximum": with_layer("maximum"),
    "maximum of a number": with_number("maximum"),
    "concatenation": joined,
    "pad": padded,
    "mirror_pad": mirrored,
    "resize_bilinear": resized("resize_bilinear"),
    "resize_nearest_neighbor": resized("resize_nearest_neighbor"),
    "transpose": turned,
    "reshape": flat,
    "slice": halved,
    "gather": gathered,
    "tile": tiled,
    "blocks": blocks,
    "cumsum": lambda b, x: b.op("cumsum", (x,), CumsumAttrs(-1)),
    "softmax": plain("softmax", SoftmaxAttrs()),
    "log_softmax": plain("log_softmax"),
    "l2_normalization": plain("l2_normalization", L2NormalizationAttrs()),
    "leaky_relu": plain("leaky_relu", LeakyReluAttrs()),
    "gelu": plain("gelu", GeluAttrs()),
    **{name: plain(name) for name in FUNCTIONS},
    "prelu": with_number("prelu", None, 0.2),
    "log": positive("log"),
    "sqrt": positive("sqrt"),
    "rsqrt": positive("rsqrt"),
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    "attention": attention,
    "swish": swish,
    "masked softmax": masked,
}
"""Name -> what appends the op, or the few ops, to a network."""


def network(names: Sequence[str], seed: int, gain: float = 1.0, forked: bool = False) -> Graph:
    """The steps in a row; forked, the last two both read what comes before, and both are told."""
    b, x = Net(seed, gain), "x"
    for name in names[:-1]:
        before, x = x, STEPS[name](b, x)
    last = STEPS[names[-1]](b, before if forked else x)
    return b.graph(*dict.fromkeys((x, last) if forked else (last,)))
