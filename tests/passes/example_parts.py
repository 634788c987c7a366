"""What the passes' own graphs are made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.passes.nets import TO_NCHW
from tests.passes.random_net import RandomNet as Net
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.slice import SliceAttrs


def places(net: Net, axis: int) -> str:
    return net.op("arg_min", ("x",), ArgAttrs(axis))


def compared(net: Net, op: str = "greater") -> str:
    return net.op(op, ("x", net.constant(np.zeros(1, np.float32))))


def chosen(net: Net, truth: str, *choices: float | str) -> str:
    operands = [c if isinstance(c, str) else net.constant(np.float32([c])) for c in choices]
    return net.op("select_v2", (truth, *operands))


def truth_and_its_opposite(net: Net) -> tuple[str, str]:
    truth = compared(net, "equal")
    return net.op("logical_not", (truth,)), truth


def scaled_layer(net: Net) -> str:
    return net.mul(net.conv("x"), net.random(4))


def two_readers(net: Net, y: str, last: str) -> tuple[str, ...]:
    """Both what a pass would change and what it would take away are the model's outputs."""
    return last, net.op("tanh", (y,))


def behind_a_layer(make: Callable[[Net, str], str]) -> Callable[[Net], tuple[str, ...]]:
    def build(net: Net) -> tuple[str, ...]:
        y = net.conv("x")
        return two_readers(net, y, make(net, y))

    return build


def turned_channels(net: Net, x: str) -> str:
    """Both halves of the channels of an image, turned in each pixel."""
    shape, c = net.shape(x)[:-1], net.channels(x)
    return net.transpose(net.reshape(x, *shape, 2, c // 2), (0, 1, 2, 4, 3))


def cut(net: Net, x: str, rows: int) -> str:
    shape = net.shape(x)
    return net.op("slice", (x,), SliceAttrs((0,) * 4, (1, rows, *shape[2:]), (1,) * 4))


def joined(net: Net, *names: str, axis: int = 3) -> str:
    return net.op("concatenation", names, ConcatenationAttrs(axis))


def dropping(net: Net, x: str) -> str:
    shape = net.shape(x)
    first = SliceAttrs((0,) * 4, (1, 1, *shape[2:]), (1,) * 4, (1,))
    y = net.op("slice", (x,), first)
    return net.op("slice", (y,), SliceAttrs((0,) * 3, (1, 2, 3), (1,) * 3))


def padded(net: Net, x: str, before: int = 1, after: int = 1, value: float = 0.0) -> str:
    widths = ((0, 0), (before, after), (before, after), (0, 0))
    return net.op("pad", (x,), PadAttrs(widths, value))


def longer(net: Net) -> str:
    return net.op("pad", ("x",), PadAttrs(((0, 0), (2, 1), (0, 0))))


def computed_norm(net: Net) -> str:
    mean = net.op("mean", ("x",), MeanAttrs((0, 1, 2)))
    parameters = (net.random(3), net.random(3), mean, net.random(3))
    return net.op("batch_norm", ("x", *parameters), BatchNormAttrs())


def erf_gelu(net: Net, half: float = 0.5) -> str:
    gate = net.add(net.op("erf", (net.mul("x", math.sqrt(0.5)),)), 1.0)
    return net.mul(net.mul("x", gate), half)


def hard_swish(net: Net, sixth: float = 1 / 6) -> str:
    return net.mul(net.mul("x", net.op("relu6", (net.add("x", 3.0),))), sixth)


def swish(net: Net, negated: bool = True) -> str:
    exponent = net.op("neg", ("x",)) if negated else "x"
    return net.div("x", net.add(net.op("exp", (exponent,)), 1.0))


def softmax(net: Net, axis: int = 1) -> str:
    e = net.op("exp", ("x",))
    return net.div(e, net.op("sum", (e,), ReduceAttrs((axis,), keep_dims=True)))


def scores(net: Net, factor: float) -> str:
    """Attention's weights, whose queries are scaled before they are turned."""
    queries = net.transpose(net.mul("x", factor), (0, 2, 1))
    return net.softmax(net.op("batch_matmul", (queries, "x"), BatchMatmulAttrs()))


def parts(net: Net, *shapes: tuple[int, int]) -> tuple[str, ...]:
    """The elements of the input's first dimension, each in a shape of its own."""
    cuts = (net.op("slice", ("x",), SliceAttrs((i, 0, 0), (1, 3, 4), (1, 1, 1))) for i in (0, 1))
    return tuple(
        net.op("abs", (net.reshape(cut, *s),)) for cut, s in zip(cuts, shapes, strict=True)
    )


def shuffled_pixels(net: Net, y: str) -> str:
    """(1, 6, 5, 12) -> (1, 12, 10, 3), whose blocks lie inside of each channel."""
    turned = net.transpose(net.reshape(y, 1, 6, 5, 3, 2, 2), (0, 1, 4, 2, 5, 3))
    return net.reshape(turned, 1, 12, 10, 3)


def by_root(net: Net, activation: str = "NONE") -> str:
    root = net.op("sqrt", (net.add(net.mul("x", "x"), 0.1),))
    return net.op("div", ("x", root), DivAttrs(activation))


def variance(net: Net, n: float = 4, squares: str = "sum", keep: bool = False) -> str:
    """Of sums and of products of 1 / n, as JAX exports it; of each row of four."""
    attrs = ReduceAttrs((1,), keep_dims=keep)
    of_squares = net.op(squares, (net.mul("x", "x"),), attrs)
    if squares == "sum":
        of_squares = net.mul(of_squares, 1 / n)
    mean = net.mul(net.op("sum", ("x",), attrs), 0.25)
    return net.op("sub", (of_squares, net.mul(mean, mean)), AddAttrs())


def power(exponent: float) -> Callable[[Net], str]:
    return lambda net: net.op("pow", (net.add(net.op("abs", ("x",)), 0.5), net.number(exponent)))


def grid(net: Net, x: str, scale: float = 0.25) -> str:
    return net.op("fake_quantize", (x,), FakeQuantizeAttrs(scale))


def flat_dense(net: Net, perm: tuple[int, ...] = TO_NCHW) -> str:
    return net.dense(net.reshape(net.transpose("x", perm), 1, 90))


def siblings(net: Net, size: int = 3, c_out: int = 4) -> tuple[str, ...]:
    return tuple(net.op("tanh", (net.conv("x", c_out, size),)) for _ in range(2))


def branches(net: Net, **attrs) -> str:
    """The sum of two convolutions."""
    return net.add(net.conv("x", 3, **attrs), net.conv("x", 3, 1, **attrs))


def shuffled(net: Net, x: str, wide: tuple[int, ...], perm: tuple[int, ...]) -> str:
    """Parts of the dimensions, which change places."""
    return net.reshape(net.transpose(net.reshape(x, *wide), perm), *net.shape(x))


def picked(net: Net, x: str, *indices: int, axis: int = 3) -> str:
    return net.op("gather", (x,), GatherAttrs(axis, indices, (len(indices),)))


def rows(net: Net, x: str) -> str:
    """The mean over what is not batch or channels, which stays as one row."""
    return net.op("mean", (x,), MeanAttrs((1,), keep_dims=True))
