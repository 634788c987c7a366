"""Random float graphs, drawn by Hypothesis, that give every pass an occasion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from tests.passes.nets import TO_NCHW, TO_NHWC, Net
from tinyrt.ir import DType, Graph, Shape
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.pool import Pool2dAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

Rng = np.random.Generator

LARGEST = 2000
"""Elements of a tensor, at most."""

UNARY = ("relu", "relu6", "relu_n1_to_1", "tanh", "logistic", "abs", "neg", "erf", "square")


class RandomNet(Net):
    """A net that grows step by step from its latest tensors."""

    def __init__(self, *inputs: Shape) -> None:
        super().__init__(*inputs)
        self.tensors = list(self.inputs)

    def shape(self, x: str) -> Shape:
        return self.values[x].shape

    def number(self, value: float) -> str:
        return self.constant(np.full(1, value, np.float32))

    def mul(self, x: str, y: str | float) -> str:
        return self.op("mul", (x, y if isinstance(y, str) else self.number(y)), MulAttrs())

    def add(self, x: str, y: str | float) -> str:
        return self.op("add", (x, y if isinstance(y, str) else self.number(y)), AddAttrs())

    def div(self, x: str | float, y: str) -> str:
        return self.op("div", (x if isinstance(x, str) else self.number(x), y), DivAttrs())

    def like(self, x: str, rng: Rng) -> str:
        """Some tensor of the same shape."""
        found = [t for t in self.tensors if self.shape(t) == self.shape(x)]
        return found[int(rng.integers(len(found)))]


Step = Callable[[RandomNet, str, Rng], str | None]


def weighted(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer with small weights, behind which sizes stay as they are."""
    rank, c = len(net.shape(x)), net.channels(x)

    def small(*shape: int) -> str:
        return net.constant(rng.normal(0, 0.3, shape).astype(np.float32))

    if rank == 2 or (rank == 3 and rng.random() < 0.5):
        attrs = FullyConnectedAttrs(keep_num_dims=rank > 2)
        return net.op("fully_connected", (x, small(4, c), small(4)), attrs)
    if rank != 4:
        return None
    kind = rng.choice(["conv", "depthwise", "transpose"])
    if kind == "depthwise":
        return net.depthwise(x, padding="VALID" if _fits(net, x) and rng.random() < 0.5 else "SAME")
    if kind == "transpose":
        h, w = net.shape(x)[1:3]
        attrs = TransposeConvAttrs((h + 1, w + 1), (1, 1), "VALID")
        return net.op("transpose_conv", (x, small(3, 2, 2, c)), attrs)
    size = int(rng.choice([1, 3])) if _fits(net, x) else 1
    padding = str(rng.choice(["SAME", "VALID"]))
    return net.conv(x, int(rng.integers(2, 5)), size, bool(rng.random() < 0.7), padding=padding)


def _fits(net: RandomNet, x: str) -> bool:
    return min(net.shape(x)[1:3]) >= 3


def channels_first(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer as an importer leaves it, on a tensor whose channels come second."""
    if len(net.shape(x)) != 4:
        return None
    y = weighted(net, net.transpose(x, TO_NHWC), rng)
    return None if y is None else net.transpose(y, TO_NCHW)


def constant_operand(net: RandomNet, x: str, rng: Rng) -> str:
    """A sum with, product with, difference to or quotient by a constant."""
    shape = [(1,), net.shape(x)[-1:], net.shape(x)][int(rng.integers(3))]
    c = net.constant(rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0], shape).astype(np.float32))
    op = str(rng.choice(["add", "mul", "sub", "div"]))
    if op == "div":
        return net.div(x, net.random(*shape))
    operands = (c, x) if rng.random() < 0.3 else (x, c)
    return net.op(op, operands, MulAttrs() if op == "mul" else AddAttrs())


def uniform_operand(net: RandomNet, x: str, rng: Rng) -> str:
    """Plus 0, times 1, times 0."""
    return [net.add(x, 0.0), net.mul(x, 1.0), net.mul(x, 0.0)][int(rng.integers(3))]


def pair(net: RandomNet, x: str, rng: Rng) -> str:
    other = net.like(x, rng)
    kind = int(rng.integers(3))
    if kind == 2:
        axis = int(rng.integers(len(net.shape(x))))
        return net.op("concatenation", (x, other), ConcatenationAttrs(axis))
    return net.add(x, other) if kind else net.mul(net.op("tanh", (x,)), other)


def twice(net: RandomNet, x: str, rng: Rng) -> str:
    """The same op once more, joined."""
    op = str(rng.choice(["tanh", "logistic"]))
    return net.add(net.op(op, (x,)), net.op(op, (x,)))


def unary(net: RandomNet, x: str, rng: Rng) -> str:
    return net.op(str(rng.choice(UNARY)), (x,))


def transposed(net: RandomNet, x: str, rng: Rng) -> str:
    return net.transpose(x, tuple(int(i) for i in rng.permutation(len(net.shape(x)))))


def reshaped(net: RandomNet, x: str, rng: Rng) -> str:
    """Flat, with a new 1, or with two dimensions joined."""
    shape = net.shape(x)
    kind, at = int(rng.integers(3)), int(rng.integers(len(shape)))
    if kind == 0 or (kind == 1 and len(shape) > 3) or len(shape) < 3:
        return net.reshape(x, shape[0], math.prod(shape[1:]))
    if kind == 1:
        return net.reshape(x, *shape[:at], 1, *shape[at:])
    return net.reshape(x, shape[0], shape[1] * shape[2], *shape[3:])


def padded(net: RandomNet, x: str, rng: Rng) -> str:
    widths = tuple(
        (0, 0) if i == 0 else tuple(map(int, rng.integers(0, 2, 2)))
        for i in range(len(net.shape(x)))
    )
    return net.op("pad", (x,), PadAttrs(widths, float(rng.choice([0.0, 0.0, 1.0]))))


def padded_convolution(net: RandomNet, x: str, rng: Rng) -> str | None:
    del rng
    if len(net.shape(x)) != 4:
        return None
    y = net.op("pad", (x,), PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0))))
    return net.conv(y, padding="VALID")


def cut(net: RandomNet, x: str, rng: Rng) -> str:
    """A slice along one dimension."""
    shape = net.shape(x)
    axis = int(rng.integers(len(shape)))
    count = int(rng.integers(1, shape[axis] + 1))
    begin = tuple(shape[axis] - count if i == axis else 0 for i in range(len(shape)))
    size = tuple(count if i == axis else d for i, d in enumerate(shape))
    return net.op("slice", (x,), SliceAttrs(begin, size, (1,) * len(shape)))


def cut_layer(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer whose border is cut off, scaled per channel."""
    y = weighted(net, x, rng) if len(net.shape(x)) == 4 else None
    if y is None:
        return None
    shape = net.shape(y)
    size = (shape[0], max(shape[1] - 1, 1), *shape[2:])
    y = net.op("slice", (y,), SliceAttrs((0,) * 4, size, (1,) * 4))
    return net.mul(y, net.random(shape[-1]))


def picked(net: RandomNet, x: str, rng: Rng) -> str:
    axis = int(rng.integers(len(net.shape(x))))
    indices = tuple(int(i) for i in rng.integers(0, net.shape(x)[axis], 2))
    return net.op("gather", (x,), GatherAttrs(axis, indices, (2,)))


def normalised(net: RandomNet, x: str, rng: Rng) -> str:
    del rng
    return net.batch_norm(x)


def averaged(net: RandomNet, x: str, rng: Rng) -> str | None:
    rank = len(net.shape(x))
    if rank < 3:
        return None
    axes = tuple(sorted(int(a) for a in rng.choice(np.arange(1, rank), 2, replace=False)))
    return net.op("mean", (x,), MeanAttrs(axes, keep_dims=bool(rng.random() < 0.5)))


def pooled(net: RandomNet, x: str, rng: Rng) -> str | None:
    if len(net.shape(x)) != 4:
        return None
    size = int(rng.choice([1, 2])) if _fits(net, x) else 1
    op = str(rng.choice(["max_pool2d", "average_pool2d"]))
    return net.op(op, (x,), Pool2dAttrs((size, size), (size, size), "VALID"))


def rounded(net: RandomNet, x: str, rng: Rng) -> str:
    """On a coarse grid, perhaps behind a move."""
    x = transposed(net, net.op("tanh", (x,)), rng) if rng.random() < 0.5 else x
    grid = FakeQuantizeAttrs(2.0 ** -int(rng.integers(2, 4)), int(rng.integers(-3, 3)))
    return net.op("fake_quantize", (x,), grid)


def power(net: RandomNet, x: str, rng: Rng) -> str:
    positive = net.add(net.op("abs", (x,)), 0.5)
    return net.op(
        "pow", (positive, net.number(float(rng.choice([-1, -0.5, 0.5, 1, 1.25, 1.5, 2, 3]))))
    )


def signs(net: RandomNet, x: str, rng: Rng) -> str:
    inner = net.op(str(rng.choice(["neg", "abs"])), (x,))
    return net.op(str(rng.choice(["neg", "abs", "square"])), (inner,))


def gelu(net: RandomNet, x: str, rng: Rng) -> str:
    if rng.random() < 0.5:
        gate = net.add(net.op("erf", (net.mul(x, math.sqrt(0.5)),)), 1.0)
        return net.mul(net.mul(x, gate), 0.5)
    cube = net.mul(net.mul(x, x), x)
    inner = net.mul(net.add(x, net.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
    return net.mul(net.mul(x, 0.5), net.add(net.op("tanh", (inner,)), 1.0))


def gated(net: RandomNet, x: str, rng: Rng) -> str:
    """Hard-swish, or a swish."""
    if rng.random() < 0.5:
        return net.mul(net.mul(x, net.op("relu6", (net.add(x, 3.0),))), 1 / 6)
    return net.div(x, net.add(net.op("exp", (net.op("neg", (x,)),)), 1.0))


def softmax(net: RandomNet, x: str, rng: Rng) -> str:
    """Written out, behind a scale, or of a product with a scaled operand."""
    kind = int(rng.integers(4))
    if kind < 2:
        return net.op("softmax", (net.mul(x, 0.25),), SoftmaxAttrs())
    if kind == 2 and len(net.shape(x)) > 2:
        small = net.op("tanh", (x,))
        queries = net.reshape(net.mul(small, 0.5), *net.shape(x))
        return net.softmax(net.op("batch_matmul", (queries, small), BatchMatmulAttrs(adj_y=True)))
    e = net.op("exp", (net.op("tanh", (x,)),))
    axis = len(net.shape(x)) - 1
    return net.div(e, net.op("sum", (e,), ReduceAttrs((axis,), keep_dims=True)))


def by_root(net: RandomNet, x: str, rng: Rng) -> str:
    del rng
    return net.div(x, net.op("sqrt", (net.add(net.mul(x, x), 0.1),)))


def siblings(net: RandomNet, x: str, rng: Rng) -> str | None:
    if len(net.shape(x)) != 4:
        return None
    first, second = net.conv(x, 2, 1), net.conv(x, 3, 1)
    if rng.random() < 0.5:
        return net.op("concatenation", (second, first), ConcatenationAttrs(3))
    return net.op("concatenation", (net.op("tanh", (first,)), second), ConcatenationAttrs(3))


def on_constants(net: RandomNet, x: str, rng: Rng) -> str:
    del rng
    return net.mul(x, net.op("tanh", (net.random(1),)))


def repeated(net: RandomNet, x: str, rng: Rng) -> str:
    """The same kind of move twice."""
    move = (transposed, reshaped, padded, cut)[int(rng.integers(4))]
    return move(net, move(net, x, rng), rng)


def layer(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer with what follows it, or what comes before it."""
    if rng.random() < 0.3:
        return weighted(net, net.mul(x, net.random(net.channels(x))), rng)
    y = weighted(net, x, rng)
    if y is None:
        return None
    y = net.batch_norm(y) if rng.random() < 0.6 else net.add(y, net.random(net.channels(y)))
    return net.op("relu", (y,)) if rng.random() < 0.6 else y


def turned_rows(net: RandomNet, x: str, rng: Rng) -> str | None:
    """What stands between a convolution and a classifier."""
    shape = net.shape(x)
    if len(shape) != 4:
        return None
    turned = net.transpose(x, TO_NCHW)
    if rng.random() < 0.5:
        return net.op("mean", (turned,), MeanAttrs((2, 3)))
    flat = net.reshape(turned, shape[0], math.prod(shape[1:]))
    return net.dense(flat)


def one_pixel(net: RandomNet, x: str, rng: Rng) -> str:
    """A dense layer that is written as a convolution."""
    shape = net.shape(x)
    rows = net.reshape(x, shape[0], 1, 1, math.prod(shape[1:]))
    y = net.conv(rows, 3, 1)
    return net.reshape(net.op("tanh", (y,)), shape[0], 3) if rng.random() < 0.5 else y


def shuffled(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Channels in another order, as exporters of channels-first models write it."""
    shape = net.shape(x)
    if len(shape) != 4 or shape[3] % 2:
        return None
    x = net.transpose(x, TO_NCHW)
    x = net.reshape(x, shape[0], 2, shape[3] // 2, *shape[1:3])
    x = net.transpose(x, (0, 2, 1, 3, 4))
    return net.transpose(net.reshape(x, shape[0], shape[3], *shape[1:3]), TO_NHWC)


def pixels(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Pixels from the channels of a layer, as exporters of channels-first models write it."""
    shape = net.shape(x)
    if len(shape) != 4 or max(shape[1:3]) > 8:
        return None
    y = net.conv(x, 8, 1, activation=str(rng.choice(["NONE", "RELU"])))
    y = net.reshape(net.transpose(y, TO_NCHW), shape[0], 2, 2, 2, *shape[1:3])
    y = net.reshape(net.transpose(y, (0, 1, 4, 2, 5, 3)), shape[0], 2, 2 * shape[1], 2 * shape[2])
    return net.transpose(y, TO_NHWC)


def attention(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Two heads, whose queries, keys and values one layer computes, as exporters write them."""
    width, steps = 3, math.prod(net.shape(x)[:-1])
    if steps > 40:
        return None
    rows = net.reshape(x, steps, net.shape(x)[-1])
    whole = net.reshape(net.dense(rows, 6 * width), steps, 3, 2 * width)
    if rng.random() < 0.5:
        whole = net.transpose(net.reshape(whole, 1, steps, 3, 2, width), (2, 0, 3, 1, 4))
        parts = [_part(net, whole, i, (0,)) for i in range(3)]
    else:
        whole = net.transpose(whole, (1, 0, 2))
        cuts = [_part(net, whole, i, ()) for i in range(3)]
        heads = [net.reshape(cut, steps, 1, 2, width) for cut in cuts]
        parts = [net.transpose(head, (1, 2, 0, 3)) for head in heads]
    q, k, v = parts
    scores = net.op("batch_matmul", (q, net.transpose(k, (0, 1, 3, 2))), BatchMatmulAttrs())
    mixed = net.op("batch_matmul", (net.softmax(net.mul(scores, 0.1)), v), BatchMatmulAttrs())
    return net.reshape(net.transpose(mixed, (0, 2, 1, 3)), steps, 2 * width)


def _part(net: RandomNet, x: str, i: int, dropped: tuple[int, ...]) -> str:
    """One element of the first dimension."""
    shape = net.shape(x)
    begin, strides = (i, *(0 for _ in shape[1:])), tuple(1 for _ in shape)
    return net.op("slice", (x,), SliceAttrs(begin, (1, *shape[1:]), strides, dropped))


def two_reshaped(net: RandomNet, x: str, rng: Rng) -> str:
    del rng
    flat = (net.shape(x)[0], math.prod(net.shape(x)[1:]))
    first, second = net.op("tanh", (x,)), net.op("logistic", (x,))
    return net.add(net.reshape(first, *flat), net.reshape(second, *flat))


def inserted(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A new dimension of 1 behind a border or a transpose."""
    if len(net.shape(x)) == 4:
        x = net.reshape(
            net.op("tanh", (x,)),
            net.shape(x)[0],
            net.shape(x)[1] * net.shape(x)[2],
            net.channels(x),
        )
    if len(net.shape(x)) != 3:
        return None
    inner = net.transpose(x, (0, 2, 1)) if rng.random() < 0.5 else padded(net, x, rng)
    shape = net.shape(inner)
    return net.reshape(inner, shape[0], 1, *shape[1:])


def rounded_twice(net: RandomNet, x: str, rng: Rng) -> str:
    """A clamp, or a move, between roundings to one grid."""
    grid = FakeQuantizeAttrs(0.25, 0)
    x = net.op("fake_quantize", (x,), grid)
    x = net.op("relu", (x,)) if rng.random() < 0.5 else transposed(net, x, rng)
    return net.op("fake_quantize", (x,), grid)


def chosen(net: RandomNet, x: str, rng: Rng) -> str:
    """A classifier's last ops: their values are well apart, so that rounding changes no place."""
    x = transposed(net, net.op("tanh", (x,)), rng) if rng.random() < 0.5 else x
    rank = len(net.shape(x))
    order = rng.permutation(math.prod(net.shape(x))).reshape(net.shape(x))
    spread = net.constant(order.astype(np.float32))
    x = net.add(net.op("tanh", (x,)), spread)
    x = net.softmax(x) if rng.random() < 0.5 else x
    axis = -1 if rng.random() < 0.5 else int(rng.integers(-rank, rank))
    attrs = ArgAttrs(axis, DType.INT64)
    y = net.op(str(rng.choice(["arg_max", "arg_max", "arg_min"])), (x,), attrs)
    if rng.random() < 0.5:
        y = net.op("cast", (y,), CastAttrs(DType.INT32))
    return net.reshape(y, *net.shape(y), 1) if rng.random() < 0.5 else y


def by_truth(net: RandomNet, x: str, rng: Rng) -> str:
    """What depends on the sign of a tensor, steadily: rounding changes little."""
    zero, one = (net.constant(np.full(1, value, np.float32)) for value in (0, 1))
    kind = int(rng.integers(4))
    if kind == 0:
        op, slope = str(rng.choice(["greater", "less_equal"])), rng.choice([0.2, -1.0, 0.0])
        sides = (x, net.mul(x, float(slope)))[:: 1 if op == "greater" else -1]
        truth = net.op(op, (x, zero))
        if rng.random() < 0.5:
            return net.op("select_v2", (net.op("logical_not", (truth,)), *sides[::-1]))
        return net.op("select_v2", (truth, *sides))
    if kind == 1:
        there = net.op("logical_not", (net.op("equal", (x, zero)),))
        return net.op("select_v2", (net.op("logical_not", (there,)), zero, x))
    truth = net.op("cast", (x,), CastAttrs(DType.BOOL)) if kind == 2 else net.op("less", (x, zero))
    factor = net.op("cast", (truth,), CastAttrs(DType.FLOAT32))
    factor = net.op("sub", (one, factor), AddAttrs()) if rng.random() < 0.5 else factor
    return net.mul(x, factor)


LAST = ("chosen",)
"""Steps whose tensors no other step can read."""

STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        *(attention, averaged, by_root, channels_first, constant_operand, cut, cut_layer, gated),
        *(gelu, inserted, layer, one_pixel, pixels, repeated, rounded_twice, shuffled),
        *(turned_rows, two_reshaped, normalised, on_constants, padded, padded_convolution, pair),
        *(picked, pooled, power, reshaped, rounded, siblings, signs, softmax, transposed, twice),
        *(unary, by_truth, chosen, uniform_operand, weighted),
    )
}


def _is_small(shape: Shape) -> bool:
    return math.prod(shape) <= LARGEST and len(shape) <= 5


def build(steps: list[tuple[str, int]], channels_last: bool) -> Graph:
    """The graph that the steps make; those that do not fit are left out."""
    net = RandomNet((1, 5, 6, 3) if channels_last else (1, 3, 5, 6))
    for i, (name, seed) in enumerate(steps):
        if name in LAST and i < len(steps) - 1:
            continue
        rng = np.random.default_rng(seed)
        at = -1 if rng.random() < 0.8 else int(rng.integers(len(net.tensors)))
        made = STEPS[name](net, net.tensors[at], rng)
        if made is not None and _is_small(net.shape(made)):
            net.tensors.append(made)
    if len(net.tensors) == 1:
        net.tensors.append(net.op("relu", ("x",)))
    return net.graph(net.tensors[-1])


def seeded(seed: int) -> Graph:
    """As ``graphs`` draws them, but the same whatever else is loaded."""
    rng = np.random.default_rng(seed)
    names = rng.choice(sorted(STEPS), rng.integers(2, 9))
    return build([(str(name), int(rng.integers(256))) for name in names], bool(rng.integers(2)))


steps = st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 255))
graphs = st.builds(build, st.lists(steps, min_size=2, max_size=8), st.booleans())
