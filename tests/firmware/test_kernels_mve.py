"""The vector kernels on an emulated Cortex-M55: sizes around a vector, both forms of their code."""

import numpy as np
import pytest

from tests.c.packed_cases import lstm, svdf
from tests.firmware.device import check_on_device
from tests.firmware.test_slices_ops import smallest
from tests.ops.build import Case, build_s8, build_s16
from tests.ops.cases.windowed import pair
from tests.sampling import sampled
from tinyrt.backends.c.mve import cost as mve_cost
from tinyrt.export import slices
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

CORE = "cortex-m55"
CASES, PROGRAMS = 40, range(sampled(1, 5))
"""Cases of a program, as many as every board has room for, and programs."""
ACTIVATIONS = ("NONE", "RELU", "RELU6")


def conv2d(rng):
    """Patches of 1 to 300 bytes, so that first bytes and numbers of blocks take all values."""
    h, w = rng.integers(4, 12, 2)
    kernel = (1, 1) if rng.random() < 0.3 else tuple(rng.integers(1, 5, 2))
    c_in, c_out = rng.integers(1, 20, 2)
    attrs = Conv2dAttrs(
        stride=tuple(int(s) for s in rng.integers(1, 3, 2)),
        padding="SAME" if rng.random() < 0.6 else "VALID",
        activation=str(rng.choice(ACTIVATIONS)),
    )
    return weighted("conv2d", attrs, (1, h, w, c_in), (c_out, *kernel, c_in), c_out)


def depthwise_conv2d(rng):
    """Up to three blocks of channels, windows of one line, of one column, and square ones."""
    h, w = rng.integers(5, 14, 2)
    kernel = [(3, 3), (3, 3), (5, 5), (1, 4), (4, 1), (2, 3)][rng.integers(6)]
    if rng.random() < 0.2:
        w, kernel = 1, (4, 1)
    channels = int(rng.choice([rng.integers(1, 25), 8, 16]))
    attrs = DepthwiseConv2dAttrs(
        stride=tuple(int(s) for s in rng.integers(1, 3, 2)),
        padding="SAME" if w < kernel[1] or rng.random() < 0.6 else "VALID",
        activation=str(rng.choice(ACTIVATIONS)),
    )
    return weighted(
        "depthwise_conv2d", attrs, (1, h, w, channels), (1, *kernel, channels), channels
    )


def depthwise_planes(rng):
    """Windows for the kernel of one channel after the other, in one band and in several."""
    kind = rng.random()
    padding = "SAME" if rng.random() < 0.6 else "VALID"
    if kind < 0.3:
        stride = int(rng.integers(1, 3))
        kernel, stride = (int(rng.integers(1, 17 - stride)), 1), (stride, int(rng.integers(1, 3)))
        h, w = int(rng.integers(kernel[0], 60)), 1
    else:
        kernel, strides = [((3, 3), (1, 2)), ((2, 4), (1,)), ((1, 2), (1,)), ((3, 1), (1,))][
            rng.choice(4, p=(0.7, 0.1, 0.1, 0.1))
        ]
        stride = (int(rng.choice(strides)),) * 2
        h, w = (int(s) for s in rng.integers(4, 50 if kind > 0.9 else 16, 2))
    if w > 1 and rng.random() < 0.5:
        h, w, kernel = w, h, kernel[::-1]
    channels = int(rng.choice([rng.integers(1, 20), 8, 16])) if h * w < 1000 else 9
    attrs = DepthwiseConv2dAttrs(stride, padding, activation=str(rng.choice(ACTIVATIONS)))
    images = int(rng.integers(1, 3)) if h * w < 200 else 1
    return weighted(
        "depthwise_conv2d", attrs, (images, h, w, channels), (1, *kernel, channels), channels
    )


def fully_connected(rng):
    """One to five rows."""
    rows, c_in, c_out = rng.integers(1, (6, 300, 20))
    attrs = FullyConnectedAttrs(activation=str(rng.choice(ACTIVATIONS)))
    return weighted("fully_connected", attrs, (rows, c_in), (c_out, c_in), c_out)


def grouped(rng):
    """Two or three groups, whose channels are whole vectors or not."""
    groups, c_in, c_out = int(rng.integers(2, 4)), *rng.integers(1, 9, 2)
    attrs = Conv2dAttrs(activation=str(rng.choice(ACTIVATIONS)))
    channels = groups * int(rng.choice([c_out, 4, 8]))
    shapes = (1, *rng.integers(2, 7, 2), groups * c_in), (channels, *rng.integers(1, 4, 2), c_in)
    return weighted("conv2d", attrs, *shapes, channels)


def wide_weighted(rng):
    """Convolutions of int16, plain, grouped and depthwise, and dense layers."""
    return (conv2d, grouped, depthwise_conv2d, fully_connected)[rng.integers(4)](rng)


def add(rng):
    """Lengths around four, and repeated operands."""
    y = tuple(rng.integers(1, 9, 3))
    repeated = tuple(int(d) if rng.random() < 0.5 else 1 for d in y)
    shapes = [y, y if rng.random() < 0.5 else repeated]
    return Case(
        "add", AddAttrs(str(rng.choice(ACTIVATIONS))), plain(shapes[:: rng.choice([1, -1])])
    )


def wide_pair(rng):
    """Sums, differences and products of int16: rows around four, and repeated operands."""
    op, attrs = [("add", AddAttrs), ("sub", AddAttrs), ("mul", MulAttrs)][rng.integers(3)]
    return Case(op, attrs(str(rng.choice(ACTIVATIONS))), add(rng).shapes)


def average_pool2d(rng):
    """Windows of up to 400 elements: more than 16 bits hold."""
    h, w = rng.integers(1, 21, 2)
    attrs = Pool2dAttrs(kernel=(int(h), int(w)), padding="VALID")
    return Case(
        "average_pool2d", attrs, plain([(1, h + 1, w + rng.integers(2), rng.integers(1, 20))])
    )


def max_pool2d(rng):
    """Up to three vectors of channels."""
    case = average_pool2d(rng)
    shape = (*case.shapes[0][:3], int(rng.integers(1, 40)))
    attrs = Pool2dAttrs(
        kernel=pair(rng, 1, 3), stride=pair(rng, 1, 2), padding="SAME", activation="RELU6"
    )
    return Case("max_pool2d", attrs, (shape,))


def few_averages(rng):
    """Windows of up to 22 elements, of which some lie outside."""
    window = [pair(rng, 1, 4), (3, 7), (11, 2), (1, 22)][rng.choice(4, p=(0.7, 0.1, 0.1, 0.1))]
    attrs = Pool2dAttrs(window, pair(rng, 1, 3), "SAME", str(rng.choice(ACTIVATIONS)))
    return Case(
        "average_pool2d", attrs, plain([(*rng.integers(1, (3, 8, 8)), rng.integers(1, 30))])
    )


def wide_pool(rng):
    """Pools of int16: up to three vectors of channels, windows of 362 elements, and of more."""
    op = str(rng.choice(["max_pool2d", "average_pool2d"]))
    if rng.random() < 0.3:
        window = [(2, 181), (363, 1), (20, 19)][rng.integers(3)]
        attrs = Pool2dAttrs(window, padding="VALID")
        return Case(op, attrs, plain([(1, *window, rng.integers(1, 10))]))
    case = few_averages(rng)
    return Case(op, case.attrs, case.shapes)


def softmax(rng):
    """Rows around one and two vectors, and longer ones."""
    length = rng.integers(1, 12) if rng.random() < 0.7 else rng.integers(12, 200)
    attrs = SoftmaxAttrs(float(rng.choice([0.25, 1.0, 3.0])))
    return Case("softmax", attrs, plain([(rng.integers(1, 5), length)]))


def batch_matmul(rng):
    """Either operand turned or not; columns around four and sixteen, products around a vector."""
    adj_x, adj_y = (bool(flag) for flag in rng.integers(0, 2, 2))
    rows, columns, inner = (int(n) for n in rng.integers(1, (6, 40, 70)))
    a = (inner, rows) if adj_x else (rows, inner)
    b = (columns, inner) if adj_y else (inner, columns)
    batch = [((), ()), ((2,), (2,)), ((3, 1), (2,)), ((1, 2), (3, 2))][rng.integers(4)]
    return Case("batch_matmul", BatchMatmulAttrs(adj_x, adj_y), (batch[0] + a, batch[1] + b))


def recurrent(rng):
    """An LSTM or an SVDF: units, inputs and memories of one vector, of some, and in between."""
    return lstm(rng) if rng.random() < 0.5 else svdf(rng)


def plain(shapes):
    return tuple(tuple(int(d) for d in shape) for shape in shapes)


def weighted(op, attrs, x, w, channels):
    return Case(op, attrs, plain([x, w, (channels,)]), frozenset({1, 2}))


def many(make, rng, build=build_s8):
    """A graph of that many nodes without connection, and data for their inputs."""
    values, nodes, feeds = {}, [], {}
    for i in range(CASES):
        built = build(make(rng), rng)
        names = {name: f"{i}/{name}" for name in built.graph.values}
        for name, v in built.graph.values.items():
            values[names[name]] = Value(names[name], v.dtype, v.shape, v.q, v.data)
        (node,) = built.graph.nodes
        inputs, outputs = ([names[n] for n in side] for side in (node.inputs, node.outputs))
        nodes.append(Node(node.op, str(i), tuple(inputs), tuple(outputs), node.attrs))
        feeds |= {names[name]: array for name, array in built.feeds.items()}
    outputs = tuple(name for n in nodes for name in n.outputs)
    return verify(Graph("many", tuple(feeds), outputs, values, tuple(nodes))), feeds


def check_programs(make, seed, folder, cflags="", build=build_s8):
    rng = np.random.default_rng(seed)
    for i in PROGRAMS:
        here = folder / str(i)
        here.mkdir()
        check_on_device(*many(make, rng, build), here, CORE, cflags)


@pytest.mark.parametrize("cflags", ["", "-DTINYRT_NO_ASM"], ids=["assembly", "intrinsics"])
@pytest.mark.parametrize("make", [conv2d, depthwise_conv2d, fully_connected, recurrent])
def test_weighted_ops(make, cflags, tmp_path):
    check_programs(make, 1, tmp_path, cflags)


@pytest.mark.parametrize("cflags", ["", "-DTINYRT_NO_ASM"], ids=["assembly", "intrinsics"])
def test_wide_weighted_ops(cflags, tmp_path):
    check_programs(wide_weighted, 7, tmp_path, cflags, build_s16)


@pytest.mark.parametrize("cflags", ["", "-DTINYRT_NO_ASM"], ids=["assembly", "intrinsics"])
def test_wide_lstms(cflags, tmp_path):
    check_programs(lstm, 8, tmp_path, cflags, build_s16)


@pytest.mark.parametrize("cflags", ["", "-DTINYRT_NO_ASM"], ids=["assembly", "intrinsics"])
def test_channels_one_after_the_other(cflags, tmp_path, monkeypatch):
    """Wherever there is a layout, faster or not."""
    monkeypatch.setattr(mve_cost, "eights_cost", lambda node, window: 2**31)
    check_programs(depthwise_planes, 3, tmp_path, cflags)


@pytest.mark.parametrize("stride", [1, 2])
def test_bands_of_channels_one_after_the_other_are_slices(stride, tmp_path, monkeypatch):
    """Bands of several pairs of lines that share some, and a last one with a single line."""
    monkeypatch.setattr(mve_cost, "eights_cost", lambda node, window: 2**31)
    monkeypatch.setattr(slices, "divided", smallest)
    shapes = plain([(1, 25 * stride, 20, 11), (1, 3, 3, 11), (11,)])
    attrs = DepthwiseConv2dAttrs((stride, stride), "SAME", activation="RELU")
    built = build_s8(
        Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2})), np.random.default_rng(stride)
    )
    check_on_device(built.graph, built.feeds, tmp_path, CORE, slices=1000)


@pytest.mark.parametrize("make", [add, average_pool2d, few_averages, max_pool2d, batch_matmul])
def test_other_ops(make, tmp_path):
    check_programs(make, 2, tmp_path)


@pytest.mark.parametrize("make", [wide_pair, wide_pool, softmax])
def test_wide_ops(make, tmp_path):
    """Arrays of extremes and scales that are far too fine are among the cases."""
    check_programs(make, 4, tmp_path, build=build_s16)


@pytest.mark.parametrize("window", [(4, 5), (2, 11), (19, 19), (2, 181), (33, 11)])
@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
def test_means_of_extremes_are_exact(window, dtype, tmp_path):
    """The greatest sums that there are, and some around them, of windows around both bounds."""
    limits = np.iinfo(dtype.numpy)
    rng = np.random.default_rng(6)
    x = np.repeat([limits.min, limits.max], 12).astype(dtype.numpy)
    x = np.tile(x, (1, *window, 1))
    x[0, 0] = rng.choice([limits.min, limits.max], x[0, 0].shape)
    x[:, :, :, ::4] = rng.integers(limits.min, limits.max, x[:, :, :, ::4].shape, endpoint=True)
    q = QParams((0.5,), 0)
    shapes = {"x": x.shape, "y": (1, 1, 1, 24)}
    values = {name: Value(name, dtype, shape, q) for name, shape in shapes.items()}
    node = Node("average_pool2d", "mean", ("x",), ("y",), Pool2dAttrs(window, padding="VALID"))
    graph = verify(Graph("means", ("x",), ("y",), values, (node,)))
    check_on_device(graph, {"x": x}, tmp_path, CORE)


@pytest.mark.parametrize("core", [CORE, "cortex-m4", "cortex-m3"])
@pytest.mark.parametrize(("op", "attrs"), [("add", AddAttrs), ("sub", AddAttrs), ("mul", MulAttrs)])
def test_halves_of_wide_pairs_are_rounded_away_from_zero(op, attrs, core, tmp_path):
    """Scales are powers of two: a sum is halved, a product halved twice, and rounded each time."""
    shape = (3, 37)
    scale = 2.0**-10
    coarse = 4 * scale**2 if op == "mul" else 2 * scale
    values = [Value(name, DType.INT16, shape, QParams((scale,), 0)) for name in "ab"]
    values.append(Value("y", DType.INT16, shape, QParams((coarse,), 0)))
    node = Node(op, op, ("a", "b"), ("y",), attrs())
    graph = verify(Graph("halves", ("a", "b"), ("y",), {v.name: v for v in values}, (node,)))
    rng = np.random.default_rng(5)
    feeds = {name: rng.integers(-200, 201, shape).astype(np.int16) for name in "ab"}
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.parametrize("core", [CORE, "cortex-m4", "cortex-m3"])
@pytest.mark.parametrize(("op", "sign"), [("add", -1), ("sub", 1)])
def test_what_cancels_out_leaves_nothing(op, sign, core, tmp_path):
    """The output's scale is as fine as may be: no shift goes right, and one step is seen."""
    scale = 2.0**-10
    q = {"a": scale, "b": scale, "y": 1.01 * scale / 2**14}
    values = {
        n: Value(n, DType.INT16, (2, 9), QParams((float(np.float32(s)),), 0)) for n, s in q.items()
    }
    node = Node(op, op, ("a", "b"), ("y",), AddAttrs())
    a = np.arange(-9, 9).reshape(2, 9).astype(np.int16)
    feeds = {"a": a, "b": (sign * a).astype(np.int16)}
    graph = verify(Graph("nothing", ("a", "b"), ("y",), values, (node,)))
    assert not evaluate(graph, feeds)["y"].any()
    check_on_device(graph, feeds, tmp_path, core)


def test_products_that_16_bits_cannot_add(tmp_path):
    """Two neighbouring weights of -128 and inputs of -128: their sum is 2**15."""
    w = np.full((1, 3, 3, 8), -128, np.int8)
    q = QParams((0.5,), 0)
    values = [
        Value("x", DType.INT8, (1, 4, 4, 8), q),
        Value.constant("w", w, QParams((0.01,))),
        Value("y", DType.INT8, (1, 4, 4, 8), QParams((8.0,), -100)),
    ]
    node = Node("depthwise_conv2d", "dw", ("x", "w", ""), ("y",), DepthwiseConv2dAttrs())
    graph = verify(Graph("least", ("x",), ("y",), {v.name: v for v in values}, (node,)))
    check_on_device(graph, {"x": np.full((1, 4, 4, 8), -128, np.int8)}, tmp_path, CORE)
