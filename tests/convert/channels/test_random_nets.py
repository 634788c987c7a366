"""Graphs without their dead channels give the same answers in every bit, whatever is in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.convert.channels.nets import IntegerNet
from tests.sampling import sampled
from tinyrt.convert.passes.known import CUT_CHANNELS, KNOWN_PASSES, apply_known
from tinyrt.convert.values.bounds import bounds_of
from tinyrt.ir import DType, Graph, RewriteLog, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import limits_of
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs

Step = Callable[[IntegerNet, str], str]
GRAPHS = sampled(12, 60)
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def conv(net: IntegerNet, x: str) -> str:
    padding, activation = net.rng.choice(["SAME", "VALID"]), str(net.rng.choice(ACTIVATIONS))
    size = int(net.rng.choice([1, 1, 3])) if min(net.shape(x)[1:3]) > 2 else 1
    count = int(net.rng.integers(1, 10))
    return net.conv(x, count, size, padding=str(padding), activation=activation)


def grouped(net: IntegerNet, x: str) -> str:
    return net.conv(x, 4, groups=2) if net.shape(x)[-1] % 2 == 0 else x


def depthwise(net: IntegerNet, x: str) -> str:
    dilation = int(net.rng.integers(1, 3))
    padding = "SAME" if min(net.shape(x)[1:3]) < 5 else str(net.rng.choice(["SAME", "VALID"]))
    times = int(net.rng.integers(1, 3)) if net.shape(x)[-1] < 10 else 1
    return net.depthwise(x, times, padding=padding, dilation=(dilation, dilation))


def residual(net: IntegerNet, x: str) -> str:
    y = net.conv(x, net.shape(x)[-1])
    return net.op("add", (x, y), AddAttrs(str(net.rng.choice(ACTIVATIONS))))


def scaled(net: IntegerNet, x: str) -> str:
    count = net.shape(x)[-1] if net.rng.random() < 0.7 else 1
    return net.op("mul", (net.number((count,)), x), MulAttrs())


def clipped(net: IntegerNet, x: str) -> str:
    op = str(net.rng.choice(["minimum", "maximum"]))
    return net.op(op, (x, net.number((net.shape(x)[-1],), net.q(x))))


def relu(net: IntegerNet, x: str) -> str:
    return net.op("relu", (x,))


def pool(net: IntegerNet, x: str) -> str:
    op = str(net.rng.choice(["average_pool2d", "max_pool2d"]))
    return net.op(op, (x,), Pool2dAttrs((2, 2), padding="SAME", activation="RELU6"))


def joined(net: IntegerNet, x: str) -> str:
    other, last = net.number(net.shape(x), net.q(x)), bool(net.rng.random() < 0.7)
    return net.op("concatenation", (other, x), ConcatenationAttrs(3 if last else 2))


def padded(net: IntegerNet, x: str) -> str:
    edge = int(net.rng.random() < 0.2)
    attrs = PadAttrs(((0, 0), (1, 0), (0, 1), (0, edge)), float(net.rng.choice([0.0, 1.0])))
    return net.op("pad", (x,), attrs)


def mirrored(net: IntegerNet, x: str) -> str:
    return net.op("mirror_pad", (x,), MirrorPadAttrs(((0, 0), (1, 0), (0, 0), (0, 0)), "SYMMETRIC"))


def cut(net: IntegerNet, x: str) -> str:
    n, height, width, c = net.shape(x)
    begin = int(net.rng.integers(0, c))
    step = int(net.rng.choice([1, 1, 2])) if c - begin > 2 else 1
    count = (c - begin + step - 1) // step
    return net.op(
        "slice", (x,), SliceAttrs((0, 0, 0, begin), (n, height, width, count), (1, 1, 1, step))
    )


def gathered(net: IntegerNet, x: str) -> str:
    axis = int(net.rng.integers(2, 4))
    return net.op("gather", (x,), GatherAttrs(axis, (0, net.shape(x)[axis] - 1), (2,)))


def turned(net: IntegerNet, x: str) -> str:
    perm = (0, 2, 1, 3) if net.rng.random() < 0.6 else (0, 1, 3, 2)
    return net.op("transpose", (x,), TransposeAttrs(perm))


def blocks(net: IntegerNet, x: str) -> str:
    return net.op("depth_to_space", (x,), BlockAttrs(2)) if net.shape(x)[-1] % 4 == 0 else x


def up(net: IntegerNet, x: str) -> str:
    return net.up(x, int(net.rng.integers(2, 7))) if max(net.shape(x)[1:3]) < 9 else x


def chosen(net: IntegerNet, x: str) -> str:
    number = net.number((net.shape(x)[-1],), net.q(x))
    return net.op("select_v2", (net.op("less", (x, number)), x, number), q=net.q(x))


STEPS: tuple[Step, ...] = (
    *(conv, conv, conv, depthwise, depthwise, residual, residual, grouped, scaled, clipped),
    *(relu, pool, joined, padded, mirrored, cut, gathered, turned, blocks, up, chosen),
)
WIDE: tuple[Step, ...] = (
    *(conv, conv, conv, depthwise, residual, scaled, clipped, relu, pool, joined, padded, cut, up),
)


def flattened(net: IntegerNet, x: str) -> str:
    """A head: means, or all pixels, into a dense layer."""
    n, height, width, c = net.shape(x)
    if net.rng.random() < 0.5:
        mean = net.op("mean", (x,), MeanAttrs((1, 2)))
        return net.dense(mean, 4, c)
    row = height * width * c
    return net.dense(net.op("reshape", (x,), ReshapeAttrs((n, row))), 4, row)


def random_graph(seed: int, dtype: DType = DType.INT8) -> Graph:
    """A graph of some steps; now and then it answers with what lies between, too."""
    net = IntegerNet((1, 6, 5, 3), seed, dtype)
    steps = STEPS if dtype is DType.INT8 else WIDE
    x = net.conv("x", 8, 3)
    for _ in range(int(net.rng.integers(3, 9))):
        x = steps[int(net.rng.integers(len(steps)))](net, x)
    between = [x] if net.rng.random() < 0.2 else []
    y = flattened(net, x)
    if dtype is DType.INT8 and net.rng.random() < 0.5:
        name, fixed = net.op("softmax", (y,), SoftmaxAttrs()), (1 / 256, -128)
        net.values[name] = Value(
            name, dtype, net.shape(name), type(net.q(x))((fixed[0],), fixed[1])
        )
        y = name
    return net.graph(y, *between)


def feeds_of(graph: Graph, rng: np.random.Generator) -> dict[str, np.ndarray]:
    feeds = {}
    for v in graph.input_values:
        low, high = limits_of(v.dtype)
        wild = rng.integers(low, high + 1, v.shape)
        feeds[v.name] = np.where(rng.random() < 0.2, rng.choice([low, high]), wild).astype(
            v.dtype.numpy
        )
    return feeds


def assert_same(before: Graph, after: Graph) -> None:
    rng = np.random.default_rng(5)
    assert (before.inputs, before.outputs) == (after.inputs, after.outputs)
    for _ in range(4):
        feeds = feeds_of(before, rng)
        want, found = evaluate(before, feeds), evaluate(after, feeds)
        for name in before.outputs:
            np.testing.assert_array_equal(found[name], want[name])


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
def test_answers_stay_the_same(dtype):
    cut_some = 0
    for seed in range(GRAPHS):
        graph, log = random_graph(seed, dtype), RewriteLog()
        after = apply_known(graph, KNOWN_PASSES, log)
        assert_same(graph, after)
        cut_some += any(name == CUT_CHANNELS for name, _ in log.applied)
        assert apply_known(after, KNOWN_PASSES) is after
    assert cut_some > GRAPHS // 3


def test_every_value_of_a_net_keeps_to_its_bounds():
    rng = np.random.default_rng(3)
    for seed in range(GRAPHS // 2):
        graph = random_graph(seed)
        bounds = bounds_of(graph)

        def check(value: Value, array: np.ndarray, bounds=bounds) -> None:
            b = bounds[value.name]
            assert ((array >= b.low) & (array <= b.high)).all(), value.describe()

        evaluate(graph, feeds_of(graph, rng), check)
