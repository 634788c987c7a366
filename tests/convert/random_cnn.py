"""Random convolutional networks in ONNX, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.convert.onnx_build import OnnxModel

Shape = tuple[int, ...]

SMALLEST = 12
"""No height or width is less."""


@dataclass
class RandomCnn:
    """A network that grows op by op from its latest tensors; shapes are (channels, *sizes).

    There are always fewer than ``SMALLEST`` channels, so that shapes tell the layouts apart.
    """

    seed: int
    rank: int
    model: OnnxModel = field(init=False)
    tensors: list[tuple[str, Shape]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = OnnxModel(13, self.seed)
        self.rng = self.model.rng
        sizes = [int(self.rng.integers(24, 32)), int(self.rng.integers(40, 50))]
        shape = (int(self.rng.integers(2, 5)), *sizes[: self.rank])
        self.tensors.append((self.model.input(1, *shape), shape))
        for _ in range(int(self.rng.integers(3, 14))):
            x, shape = self.tensors[-int(self.rng.integers(1, min(3, len(self.tensors)) + 1))]
            made = self.rng.choice(STEPS)(self, x, shape)
            if made is not None:
                self.tensors.append(made)

    def output(self) -> str:
        """The last tensor, or a classifier behind it."""
        m, (x, shape) = self.model, self.tensors[-1]
        end = self.rng.choice(["features", "dense", "pooled"])
        if end == "features" and x != "x":
            return x
        if end == "pooled":
            x, shape = m.op("GlobalAveragePool", x), (shape[0],)
        columns = 1
        for size in shape:
            columns *= size
        return m.op("Gemm", m.op("Flatten", x), m.weights(columns, 3), m.weights(3))

    def spatial(self, *values: int) -> list[int]:
        """One value per spatial dimension."""
        return list(values) * self.rank

    def like(self, shape: Shape, axes: slice) -> tuple[str, Shape]:
        """Some tensor that equals a shape along the axes."""
        found = [t for t in self.tensors if t[1][axes] == shape[axes]]
        return found[int(self.rng.integers(len(found)))]


Step = Callable[[RandomCnn, str, Shape], tuple[str, Shape] | None]


def convolve(net, x, shape):
    m, (c, *sizes) = net.model, shape
    kernel, stride, pad, c_out = (
        int(net.rng.integers(a, b)) for a, b in ((1, 4), (1, 3), (0, 2), (2, 6))
    )
    out = [(n + 2 * pad - kernel) // stride + 1 for n in sizes]
    if min(out) < SMALLEST:
        return None
    w, attrs = m.weights(c_out, c, *net.spatial(kernel)), {"strides": net.spatial(stride)}
    return m.op("Conv", x, w, m.weights(c_out), pads=net.spatial(pad, pad), **attrs), (c_out, *out)


def depthwise(net, x, shape):
    w = net.model.weights(shape[0], 1, *net.spatial(3))
    return net.model.op("Conv", x, w, pads=net.spatial(1, 1), group=shape[0]), shape


def residual(net, x, shape):
    m, c = net.model, shape[0]
    w = m.weights(c, c, *net.spatial(3))
    return m.op("Add", x, m.op("Conv", x, w, m.weights(c), pads=net.spatial(1, 1))), shape


def normalise(net, x, shape):
    m, c = net.model, shape[0]
    parameters = [m.weights(c), m.weights(c), m.weights(c), m.weights(c, low=0.5)]
    return m.op("BatchNormalization", x, *parameters), shape


def unary(net, x, shape):
    return net.model.op(str(net.rng.choice(["Relu", "Sigmoid", "Tanh"])), x), shape


def clip(net, x, shape):
    low, high = ((0, 6), (-1, 1), (-0.5, 0.7))[int(net.rng.integers(3))]
    return net.model.op("Clip", x, net.model.const(low), net.model.const(high)), shape


def binary(net, x, shape):
    op = str(net.rng.choice(["Add", "Mul", "Sub", "Max"]))
    return net.model.op(op, x, net.like(shape, slice(None))[0]), shape


def constant(net, x, shape):
    ones = (1,) * net.rank
    choices = [(shape[0], *ones), (1, shape[0], *ones), (1, *shape), shape[1:], ()]
    w = net.model.weights(*choices[int(net.rng.integers(len(choices)))])
    operands = (x, w) if net.rng.integers(2) else (w, x)
    return net.model.op(str(net.rng.choice(["Add", "Mul", "Sub"])), *operands), shape


def concatenate(net, x, shape):
    other, (c, *_) = net.like(shape, slice(1, None))
    if shape[0] + c >= SMALLEST:
        return None
    return net.model.op("Concat", x, other, axis=1), (shape[0] + c, *shape[1:])


def max_pool(net, x, shape):
    if min(shape[1:]) < 2 * SMALLEST:
        return None
    attrs = {"kernel_shape": net.spatial(2), "strides": net.spatial(2)}
    return net.model.op("MaxPool", x, **attrs), (shape[0], *(n // 2 for n in shape[1:]))


def average_pool(net, x, shape):
    counts = int(net.rng.integers(2))
    attrs = {"kernel_shape": net.spatial(3), "pads": net.spatial(1, 1)}
    return net.model.op("AveragePool", x, count_include_pad=counts, **attrs), shape


def pad(net, x, shape):
    before, after = (net.rng.integers(0, 3, net.rank) for _ in range(2))
    widths = net.model.ints(0, 0, *map(int, before), 0, 0, *map(int, after))
    sizes = (int(n + a + b) for n, a, b in zip(shape[1:], before, after, strict=True))
    return net.model.op("Pad", x, widths), (shape[0], *sizes)


def squeeze_excite(net, x, shape):
    m, c = net.model, shape[0]
    if net.rng.integers(2):
        gate = m.op("Conv", m.op("GlobalAveragePool", x), m.weights(c, c, *net.spatial(1)))
    else:
        mean = m.op("ReduceMean", x, axes=list(range(2, 2 + net.rank)), keepdims=0)
        gate = m.op("Gemm", mean, m.weights(c, c))
        gate = m.op("Reshape", gate, m.ints(1, c, *net.spatial(1)))
    return m.op("Mul", x, m.op("Sigmoid", gate)), shape


STEPS: list[Step] = [
    *(convolve, convolve, convolve, depthwise, residual, residual, normalise, unary, unary, clip),
    *(binary, constant, concatenate, max_pool, average_pool, pad, squeeze_excite),
]
