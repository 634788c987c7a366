"""Functions and moves of data that random graphs grow by."""

from __future__ import annotations

import math

import numpy as np

from tests.passes.random_net import RandomNet, Rng
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

UNARY = ("relu", "relu6", "relu_n1_to_1", "tanh", "logistic", "abs", "neg", "erf", "square")


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


def cut(net: RandomNet, x: str, rng: Rng) -> str:
    """A slice along one dimension."""
    shape = net.shape(x)
    axis = int(rng.integers(len(shape)))
    count = int(rng.integers(1, shape[axis] + 1))
    begin = tuple(shape[axis] - count if i == axis else 0 for i in range(len(shape)))
    size = tuple(count if i == axis else d for i, d in enumerate(shape))
    return net.op("slice", (x,), SliceAttrs(begin, size, (1,) * len(shape)))


def picked(net: RandomNet, x: str, rng: Rng) -> str:
    axis = int(rng.integers(len(net.shape(x))))
    indices = tuple(int(i) for i in rng.integers(0, net.shape(x)[axis], 2))
    return net.op("gather", (x,), GatherAttrs(axis, indices, (2,)))


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
    """By its own size, or by its deviation as JAX's layers compute it."""
    if rng.random() < 0.5:
        attrs = ReduceAttrs((len(net.shape(x)) - 1,), keep_dims=True)
        small = net.op("tanh", (x,))
        mean, of_squares = (net.op("mean", (y,), attrs) for y in (small, net.mul(small, small)))
        variance = net.op("sub", (of_squares, net.mul(mean, mean)), AddAttrs())
        return net.div(small, net.op("sqrt", (net.add(variance, 0.1),)))
    return net.div(x, net.op("sqrt", (net.add(net.mul(x, x), 0.1),)))


def on_constants(net: RandomNet, x: str, rng: Rng) -> str:
    del rng
    return net.mul(x, net.op("tanh", (net.random(1),)))


def joined(net: RandomNet, x: str, rng: Rng) -> str:
    """A concatenation of one with something else, whose middle is cut out again by half."""
    axis = int(rng.integers(len(net.shape(x))))
    attrs = ConcatenationAttrs(axis)
    inner = net.op("concatenation", (net.op("tanh", (x,)), x), attrs)
    y = net.op("concatenation", (inner, net.op("abs", (x,))), attrs)
    if rng.random() < 0.5:
        return y
    shape = net.shape(x)
    begin = tuple(d if i == axis else 0 for i, d in enumerate(shape))
    size = tuple(2 * d if i == axis else d for i, d in enumerate(shape))
    return net.op("slice", (y,), SliceAttrs(begin, size, (1,) * len(shape)))


def regrouped(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Transposes around a reshape that splits a dimension and joins the rest with a part of it."""
    shape = net.shape(x)
    perm = tuple(int(i) for i in rng.permutation(len(shape)))
    last = shape[perm[-1]]
    parts = [n for n in range(2, last) if last % n == 0]
    if not parts or len(shape) > 4:
        return None
    part = parts[int(rng.integers(len(parts)))]
    rows = net.reshape(net.transpose(x, perm), math.prod(shape) // part, part)
    return net.reshape(net.transpose(rows, (1, 0)), *shape)


def repeated(net: RandomNet, x: str, rng: Rng) -> str:
    """The same kind of move twice."""
    move = (transposed, reshaped, padded, cut)[int(rng.integers(4))]
    return move(net, move(net, x, rng), rng)


def two_reshaped(net: RandomNet, x: str, rng: Rng) -> str:
    del rng
    flat = (net.shape(x)[0], math.prod(net.shape(x)[1:]))
    first, second = net.op("tanh", (x,)), net.op("logistic", (x,))
    return net.add(net.reshape(first, *flat), net.reshape(second, *flat))


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
