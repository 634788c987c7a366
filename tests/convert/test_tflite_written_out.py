"""Forms of ops that the graph holds as several: LiteRT's answers, as read and as written anew."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, build, single
from tests.convert.test_tflite_breadth import agree
from tests.convert.tflite_files import T, i32
from tests.ops.peers import run_tflm
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import TinyrtError
from tinyrt.ops.shared.evaluate import evaluate

S8 = {"scale": 0.05, "zero_point": -7}
TYPES = {"FLOAT32": {}, "INT32": {}, "INT8": S8, "INT16": {"scale": 0.001}}


def ops_of(data):
    return [node.op for node in parse_tflite(data).nodes]


def sum_of(op, act, kind="INT32"):
    tensors = [T("x", (2, 3), kind), T("c", (3,), kind), T("y", (2, 3), kind)]
    return single(op, tensors, f"{op.title()}Options", FusedActivationFunction=act)


@pytest.mark.parametrize(
    ("act", "clamps"), [(0, []), (1, ["maximum"]), (2, ["maximum", "minimum"])]
)
@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
def test_activations_of_integers_are_limits(op, act, clamps):
    data = sum_of(op, act)
    assert ops_of(data) == [op.lower(), *clamps]
    agree(data)
    agree(write_tflite(parse_tflite(data)))


def test_other_activations_stay_in_their_op():
    assert ops_of(sum_of("ADD", 1, "FLOAT32")) == ["add"]


def padded(kind, shape=(1,), pads=((1, 2), (0, 1)), q=None):
    tensors = [
        T("x", (2, 3), kind, **TYPES[kind]),
        T("p", (2, 2), "INT32", np.array(pads, np.int32)),
        T("v", shape, kind, **(TYPES[kind] if q is None else q)),
        T("y", tuple(n + sum(p) for n, p in zip((2, 3), pads, strict=True)), kind, **TYPES[kind]),
    ]
    op = Op("PADV2", ["x", "p", "v"], ["y"], "PadV2Options")
    return build(Subgraph(tensors, [op], ["x", "v"], ["y"]))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("kind", TYPES)
def test_a_computed_border_surrounds_the_input(kind, shape):
    data = padded(kind, shape)
    assert "pad" not in ops_of(data)
    if kind != "INT16" and len(shape) < 2:
        agree(data)
    graph = parse_tflite(write_tflite(parse_tflite(data)))
    x = np.arange(6).reshape(2, 3).astype(graph.value("x").dtype.numpy)
    v = np.full(shape, 9, x.dtype)
    np.testing.assert_array_equal(
        evaluate(graph, {"x": x, "v": v})["y"], np.pad(x, ((1, 2), (0, 1)), constant_values=9)
    )


@pytest.mark.parametrize(
    ("shape", "pads", "parts"),
    [
        ((2,), ((1, 2), (0, 1)), ["is computed at run time", "'v' f32[2]", "a constant scalar"]),
        ((1,), ((-1, 1), (0, 1)), ["is computed at run time"]),
        ((1,), ((1, -1), (0, 1)), ["is computed at run time"]),
    ],
)
def test_borders_that_are_none_are_refused_as_of_pad(shape, pads, parts):
    with pytest.raises(TinyrtError) as caught:
        parse_tflite(padded("FLOAT32", shape, pads))
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("pads", "parts"),
    [
        (((1, 2), (0, -1)), ["what to pad with is computed at run time", "'v' f32[1]"]),
        (((1, 2),), ["2 paddings", "two for each of 2 dimensions"]),
    ],
)
def test_a_computed_border_of_other_paddings_is_refused(pads, parts):
    """What cuts off elements, or has not two paddings for each dimension."""
    tensors = [
        T("x", (2, 3)),
        T("p", (len(pads), 2), "INT32", np.array(pads, np.int32)),
        *(T("v", (1,)), T("y", (5, 2))),
    ]
    op = Op("PADV2", ["x", "p", "v"], ["y"], "PadV2Options")
    with pytest.raises(TinyrtError) as caught:
        parse_tflite(build(Subgraph(tensors, [op], ["x", "v"], ["y"])))
    for part in ["#0 PADV2", *parts]:
        assert part in str(caught.value)


@pytest.mark.parametrize("count", [1, 3])
def test_slopes_are_one_input(count):
    tensors = [T(name, (2, 5)) for name in ("x", "a", "b", "y")]
    op = Op("PRELU", ["x", "a", "b"][:count], ["y"])
    with pytest.raises(TinyrtError) as caught:
        parse_tflite(build(Subgraph(tensors, [op], ["x", "a", "b"], ["y"])))
    for part in ["#0 PRELU", f"{count} inputs", "expected: 2"]:
        assert part in str(caught.value)


def sloped(kind, x, slopes, y):
    own, other = (S8, {"scale": 0.02, "zero_point": 3}) if kind == "INT8" else ({}, {})
    tensors = [T("x", x, kind, **own), T("a", slopes, kind, **other), T("y", y, kind, **own)]
    op = Op("PRELU", ["x", "a"], ["y"])
    return build(Subgraph(tensors, [op], ["x", "a"], ["y"]))


@pytest.mark.parametrize("kind", ["FLOAT32", "INT8"])
@pytest.mark.parametrize(
    "shapes", [((1, 5), (2, 3, 5), (2, 3, 5)), ((2, 1, 4, 1), (3, 1, 5), (2, 3, 4, 5))]
)
def test_slopes_that_are_larger_repeat_the_input(kind, shapes):
    data = sloped(kind, *shapes)
    assert ops_of(data) == ["broadcast_to", "prelu"]
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    graph, rng = parse_tflite(data), np.random.default_rng(3)
    feeds = {}
    for name in ("x", "a"):
        drawn = rng.normal(size=graph.value(name).shape)
        wide = drawn * 60 if kind == "INT8" else drawn
        feeds[name] = np.clip(wide, -128, 127).astype(graph.value(name).dtype.numpy)
    peer = tflm.runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
    for i, array in enumerate(feeds.values()):
        peer.set_input(array, i)
    peer.invoke()
    found = evaluate(graph, feeds)["y"]
    np.testing.assert_array_equal(found, peer.get_output(0).reshape(found.shape))
    again = parse_tflite(write_tflite(graph))
    np.testing.assert_array_equal(run_tflm(again, list(feeds.values())).reshape(found.shape), found)


def test_parts_of_truth_values_begin_at_computed_places():
    tensors = [T("x", (4, 3), "BOOL"), T("b", (2,), "INT32"), i32("s", 2, 3)]
    op = Op("SLICE", ["x", "b", "s"], ["y"])
    data = build(Subgraph([*tensors, T("y", (2, 3), "BOOL")], [op], ["x", "b"], ["y"]))
    graph = parse_tflite(data)
    assert [node.op for node in graph.nodes] == ["slice_at"]
    x = np.arange(12).reshape(4, 3) % 3 == 0
    found = evaluate(graph, {"x": x, "b": np.array([1, 0], np.int32)})["y"]
    np.testing.assert_array_equal(found, x[1:3])


@pytest.mark.parametrize(
    ("kinds", "parts"), [(("INT8", "INT16"), "s8"), (("INT16", "INT8"), "s16")]
)
def test_another_type_is_refused_by_the_op_itself(kinds, parts):
    """Not by what gives its operand another scale."""
    x, y = (T(n, s, k, **TYPES[k]) for n, s, k in zip("xy", ((2, 3), (3, 2)), kinds, strict=True))
    data = build(Subgraph([x, i32("s", 3, 2), y], [Op("RESHAPE", ["x", "s"], ["y"])], ["x"], ["y"]))
    with pytest.raises(TinyrtError) as caught:
        parse_tflite(data)
    assert "reshape 'y'" in str(caught.value)
    assert f"{parts}[3,2]" in str(caught.value)
