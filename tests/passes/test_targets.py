"""What a runtime lacks is written in ops that it has, and runs there."""

import numpy as np
import pytest

from tests.ops.build import build_f32
from tests.ops.cases import CASES, rng_of
from tests.ops.peers import run_tflm
from tests.passes.random_net import RandomNet as Net
from tests.passes.test_every_pass import assert_same
from tinyrt.convert.passes.moves import Move
from tinyrt.convert.passes.targets import (
    LACKING,
    LOWERINGS,
    MAX_FACTORS,
    MOVED_DIMENSIONS,
    lower_for,
)
from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Graph, Node, RewriteLog
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.repeat import TileAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs
from tinyrt.quantize import PRESETS, Preset, quantize_graph

LOWERED = sorted({op for rule in LOWERINGS["tflm"] for op in rule.ops})


@pytest.mark.parametrize("op", LOWERED)
@pytest.mark.parametrize("seed", range(4))
def test_it_fires_keeps_the_results_and_runs_on_the_target(op, seed):
    rng = rng_of(op, seed)
    built = build_f32(CASES[op](rng), rng)
    log = RewriteLog()
    lowered = lower_for(built.graph, "tflm", log)
    assert log.applied
    assert LACKING["tflm"].isdisjoint(node.op for node in lowered.nodes)
    assert_same(built.graph, lowered)
    (feed,) = built.feeds.values()
    found = run_tflm(lowered, [feed])
    (rule,) = (r for r in LOWERINGS["tflm"] if op in r.ops)
    assert rule.name in {name for name, _ in log.applied}
    assert np.isfinite(found).all()


def moved(shape: tuple[int, ...], perm: tuple[int, ...]) -> Graph:
    net = Net(shape)
    return net.graph(net.transpose("x", perm))


def turns_of(graph: Graph) -> list[Node]:
    """The transposes, none of which has more dimensions than TFLM moves."""
    turns = [node for node in graph.nodes if node.op == "transpose"]
    assert max((len(graph.value(n.output).shape) for n in turns), default=0) <= MOVED_DIMENSIONS
    return turns


@pytest.mark.parametrize("seed", range(12))
def test_moves_of_many_dimensions_are_several_of_five(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1 + seed % 2, 4, 6))
    graph = moved(shape, tuple(int(i) for i in rng.permutation(6)))
    lowered = lower_for(graph, "tflm")
    assert len(turns_of(lowered)) <= 2
    x = rng.normal(size=shape).astype(np.float32)
    np.testing.assert_array_equal(run_tflm(lowered, [x]), Model(graph)(x))
    samples = rng.normal(size=(20 * shape[0], *shape[1:])).astype(np.float32)
    int8 = quantize_graph(graph, samples, PRESETS[Preset.FAST])
    parted = lower_for(int8, "tflm")
    assert len(turns_of(parted)) <= 2
    stored = rng.integers(-128, 128, shape, np.int8)
    np.testing.assert_array_equal(run_tflm(parted, [stored]), Model(int8)(stored))


LONG = ((2, 3, 2, 5, 6, 32), (4, 0, 2, 1, 3, 5))
"""The heads of Swin's windows."""


def test_the_longer_lines_are_moved_first():
    """Whole lines of windows, then heads: the other way round, lines are short twice."""
    first, second = turns_of(lower_for(moved(*LONG), "tflm"))
    assert first.attrs.perm == (0, 2, 1, 3)
    assert second.attrs.perm == (1, 0, 2)
    parts = Move.of(*LONG).in_parts(5)
    assert [part.lines for part in parts] == [2 * 2, 6]


@pytest.mark.parametrize("count", [7, 8])
def test_each_exchange_takes_a_dimension_away(count):
    rng, shape = np.random.default_rng(count), (2,) * count
    x = np.arange(2**count).reshape(shape)
    for _ in range(10):
        perm = tuple(int(i) for i in rng.permutation(count))
        y, parts = x, Move.of(shape, perm).in_parts(5)
        for part in parts:
            y = y.reshape(part.shape).transpose(part.perm)
            assert y.ndim <= 5
        assert len(parts) <= count - 4
        np.testing.assert_array_equal(y.ravel(), x.transpose(perm).ravel())


def test_units_are_moved_by_a_reshape_and_few_dimensions_as_they_are():
    units = lower_for(moved((1, 2, 1, 3, 1, 4), (1, 0, 3, 2, 5, 4)), "tflm")
    assert [node.op for node in units.nodes] == ["reshape"]
    few = moved((2, 3, 4, 5, 6), (4, 2, 0, 3, 1))
    assert lower_for(few, "tflm").nodes == few.nodes


def test_places_are_int32_and_run_on_the_target():
    net = Net((4, 9))
    place = net.op("arg_max", ("x",), ArgAttrs(1, DType.INT64))
    real = net.op("cast", (place,), CastAttrs(DType.FLOAT32))
    graph = net.graph(place, real)
    lowered = lower_for(graph, "tflm")
    assert [lowered.value(n).dtype for n in lowered.outputs] == [DType.INT32, DType.FLOAT32]
    x = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32)
    found = run_tflm(lowered, [x])
    np.testing.assert_array_equal(found, x.argmax(axis=1).astype(np.int32), strict=True)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("tile", TileAttrs((1, MAX_FACTORS))),
        ("reduce_prod", ReduceAttrs((0,))),
        ("reduce_prod", ReduceAttrs((-1, 0))),
        ("reduce_prod", ReduceAttrs((-2, 1), keep_dims=True)),
    ],
)
def test_as_many_factors_as_are_written_out(op, attrs):
    net = Net((MAX_FACTORS, 3))
    graph = net.graph(net.op(op, ("x",), attrs))
    lowered = lower_for(graph, "tflm")
    assert op not in {node.op for node in lowered.nodes}
    assert_same(graph, lowered)


def test_an_op_that_is_lacking_is_told_with_its_own_reason():
    net = Net((2, 100))
    first = net.op("topk_v2", ("x",), TopkV2Attrs(2))
    graph = net.graph(first, net.op("tile", ("x",), TileAttrs((1, 100))))
    with pytest.raises(TinyrtError) as caught:
        lower_for(graph, "tflm")
    assert caught.value.problem == "tflm has no topk_v2"


REFUSED = {
    "tflm has no arg_max to int64": lambda net: net.reshape(
        net.op("arg_max", ("x",), ArgAttrs(1, DType.INT64)), 2, 1
    ),
    "it repeats its input": lambda net: net.op("tile", ("x",), TileAttrs((1, 100))),
    "it multiplies 100 elements": lambda net: net.op("reduce_prod", ("x",), ReduceAttrs((1,))),
    "tflm has no topk_v2": lambda net: net.op("topk_v2", ("x",), TopkV2Attrs(2)),
    "tflm has no pow": lambda net: net.op("pow", ("x", net.number(1.25))),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_it_refuses_with_its_reason(reason):
    net = Net((2, 100))
    graph = net.graph(REFUSED[reason](net))
    with pytest.raises(TinyrtError, match=reason):
        lower_for(graph, "tflm")


def test_targets_are_known_by_name():
    with pytest.raises(TinyrtError, match="no target 'abacus'"):
        lower_for(Net((2, 3)).graph("x"), "abacus")
    written_out = {op for rule in LOWERINGS["tflm"] for op in rule.ops}
    assert written_out | {"pow", "topk_v2"} == LACKING["tflm"]
