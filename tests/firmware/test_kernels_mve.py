"""The vector kernels on an emulated Cortex-M55: sizes around a vector, both forms of their code."""

import numpy as np
import pytest

from tests.c.packed_cases import lstm
from tests.c.programs import one_graph
from tests.c.vector_cases import (
    add,
    average_pool2d,
    batch_matmul,
    by_planes,
    conv2d,
    depthwise_conv2d,
    depthwise_planes,
    few_averages,
    fully_connected,
    max_pool2d,
    plain,
    recurrent,
    softmax,
    wide_pair,
    wide_pool,
    wide_weighted,
)
from tests.firmware.device import check_on_device
from tests.firmware.test_slices_ops import smallest
from tests.ops.build import Built, Case, build_s8, build_s16
from tests.ops.corners.layers import UNIT, Layer, made_layer
from tests.sampling import sampled
from tinyrt.export import slices
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs

CORE = "cortex-m55"
MOST = 40
"""Cases of a program that every board has room for."""
CASES, PROGRAMS = sampled(10, MOST), range(sampled(1, 5))
"""Cases of a kind in a program, and programs."""
INTRINSICS = pytest.param("-DTINYRT_NO_ASM", id="intrinsics")
FORMS = [pytest.param("", id="assembly"), *sampled([], [INTRINSICS])]
"""As it is, and in intrinsics, which ``tests/c/test_mve.py`` runs on this machine."""


def many(makes, rng, build=build_s8):
    """A graph of that many nodes of each kind without connection, and data for their inputs."""
    values, nodes, feeds = {}, [], {}
    for i in range(min(MOST, CASES * len(makes))):
        built = build(makes[i % len(makes)](rng), rng)
        names = {name: f"{i}/{name}" for name in built.graph.values}
        for name, v in built.graph.values.items():
            values[names[name]] = Value(names[name], v.dtype, v.shape, v.q, v.data)
        (node,) = built.graph.nodes
        inputs, outputs = ([names[n] for n in side] for side in (node.inputs, node.outputs))
        nodes.append(Node(node.op, str(i), tuple(inputs), tuple(outputs), node.attrs))
        feeds |= {names[name]: array for name, array in built.feeds.items()}
    outputs = tuple(name for n in nodes for name in n.outputs)
    return verify(Graph("many", tuple(feeds), outputs, values, tuple(nodes))), feeds


def together(*makes):
    """Kinds of ops of a program: all of them at once, or each alone where all are asked for."""
    return sampled([makes], [(make,) for make in makes])


def name_of(makes):
    return " ".join(make.__name__ for make in makes)


def check_programs(makes, seed, folder, cflags="", build=build_s8):
    rng = np.random.default_rng(seed)
    for i in PROGRAMS:
        here = folder / str(i)
        here.mkdir()
        check_on_device(*many(makes, rng, build), here, CORE, cflags)


@pytest.mark.parametrize("cflags", FORMS)
@pytest.mark.parametrize(
    "makes", together(conv2d, depthwise_conv2d, fully_connected, recurrent), ids=name_of
)
def test_weighted_ops(makes, cflags, tmp_path):
    check_programs(makes, 1, tmp_path, cflags)


@pytest.mark.whole
@pytest.mark.parametrize("cflags", FORMS)
def test_wide_weighted_ops(cflags, tmp_path):
    check_programs([wide_weighted], 7, tmp_path, cflags, build_s16)


@pytest.mark.whole
@pytest.mark.parametrize("cflags", FORMS)
def test_wide_lstms(cflags, tmp_path):
    check_programs([lstm], 8, tmp_path, cflags, build_s16)


@pytest.mark.parametrize("cflags", FORMS)
def test_channels_one_after_the_other(cflags, tmp_path, monkeypatch):
    """Wherever there is a layout, faster or not."""
    by_planes(monkeypatch)
    check_programs([depthwise_planes], 3, tmp_path, cflags)


def test_sums_of_channels_that_reach_beyond_16_bits(tmp_path, monkeypatch):
    """The zero point is added to the greatest number of 16 bits."""
    by_planes(monkeypatch)
    layers = {
        f"stride {stride}, {kind}": made_layer(
            Layer(
                "depthwise_conv2d",
                DepthwiseConv2dAttrs((stride, stride), "SAME"),
                *((2, 9, 8, 5), (1, 3, 3, 5), 3),
            ),
            UNIT[kind],
            x_zp=-128,
        )
        for stride in (1, 2)
        for kind in ("one and above", "raised far")
    }
    check_on_device(*one_graph(layers), tmp_path, CORE)


@pytest.mark.whole
@pytest.mark.parametrize("stride", sampled([2], [1, 2]))
def test_bands_of_channels_one_after_the_other_are_slices(stride, tmp_path, monkeypatch):
    """Bands of several pairs of lines that share some, and a last one with a single line."""
    by_planes(monkeypatch)
    monkeypatch.setattr(slices, "divided", smallest)
    shapes = plain([(1, 25 * stride, 20, 11), (1, 3, 3, 11), (11,)])
    attrs = DepthwiseConv2dAttrs((stride, stride), "SAME", activation="RELU")
    built = build_s8(
        Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2})), np.random.default_rng(stride)
    )
    check_on_device(built.graph, built.feeds, tmp_path, CORE, slices=1000)


@pytest.mark.whole
@pytest.mark.parametrize(
    "makes", together(add, average_pool2d, few_averages, max_pool2d, batch_matmul), ids=name_of
)
def test_other_ops(makes, tmp_path):
    check_programs(makes, 2, tmp_path)


@pytest.mark.whole
@pytest.mark.parametrize("makes", together(wide_pair, wide_pool, softmax), ids=name_of)
def test_wide_ops(makes, tmp_path):
    """Arrays of extremes and scales that are far too fine are among the cases."""
    check_programs(makes, 4, tmp_path, build=build_s16)


WINDOWS = [(4, 5), (2, 11), (19, 19), (2, 181), (33, 11)]


@pytest.mark.parametrize("dtype", sampled([DType.INT16], [DType.INT8, DType.INT16]))
def test_means_of_extremes_are_exact(dtype, tmp_path):
    """The greatest sums that there are, and some around them, of windows around both bounds."""
    check_together({str(w): mean_of_extremes(w, dtype) for w in WINDOWS}, tmp_path, CORE)


def mean_of_extremes(window, dtype):
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
    return Built(verify(Graph("means", ("x",), ("y",), values, (node,))), {"x": x})


def check_together(made, folder, core):
    """Graphs of one op, as one program."""
    check_on_device(*one_graph(made), folder, core)


@pytest.mark.whole
@pytest.mark.parametrize("core", sampled([CORE], [CORE, "cortex-m4", "cortex-m3"]))
def test_halves_of_wide_pairs_are_rounded_away_from_zero(core, tmp_path):
    """Scales are powers of two: a sum is halved, a product halved twice, and rounded each time."""
    ops = {"add": AddAttrs(), "sub": AddAttrs(), "mul": MulAttrs()}
    check_together({op: halved(op, attrs) for op, attrs in ops.items()}, tmp_path, core)


def halved(op, attrs):
    shape = (3, 37)
    scale = 2.0**-10
    coarse = 4 * scale**2 if op == "mul" else 2 * scale
    values = [Value(name, DType.INT16, shape, QParams((scale,), 0)) for name in "ab"]
    values.append(Value("y", DType.INT16, shape, QParams((coarse,), 0)))
    node = Node(op, op, ("a", "b"), ("y",), attrs)
    graph = verify(Graph("halves", ("a", "b"), ("y",), {v.name: v for v in values}, (node,)))
    rng = np.random.default_rng(5)
    feeds = {name: rng.integers(-200, 201, shape).astype(np.int16) for name in "ab"}
    return Built(graph, feeds)


@pytest.mark.whole
@pytest.mark.parametrize("core", sampled([CORE], [CORE, "cortex-m4", "cortex-m3"]))
def test_what_cancels_out_leaves_nothing(core, tmp_path):
    """The output's scale is as fine as may be: no shift goes right, and one step is seen."""
    made = {op: cancelled(op, sign) for op, sign in (("add", -1), ("sub", 1))}
    assert not any(evaluate(b.graph, b.feeds)["y"].any() for b in made.values())
    check_together(made, tmp_path, core)


def cancelled(op, sign):
    scale = 2.0**-10
    q = {"a": scale, "b": scale, "y": 1.01 * scale / 2**14}
    values = {
        n: Value(n, DType.INT16, (2, 9), QParams((float(np.float32(s)),), 0)) for n, s in q.items()
    }
    node = Node(op, op, ("a", "b"), ("y",), AddAttrs())
    a = np.arange(-9, 9).reshape(2, 9).astype(np.int16)
    feeds = {"a": a, "b": (sign * a).astype(np.int16)}
    return Built(verify(Graph("nothing", ("a", "b"), ("y",), values, (node,))), feeds)


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
