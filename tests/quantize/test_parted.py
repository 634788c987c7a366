"""A float model beside one whose layers quantisation has taken apart."""

import numpy as np
import pytest

from tests.graphs import renamed
from tests.quantize.test_turned import Net, in_front, in_heads
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.interpreter import Model
from tinyrt.ir import Graph
from tinyrt.metrics import sqnr_db
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.explain.bisect import bisect
from tinyrt.quantize.explain.debug import debug_graphs
from tinyrt.quantize.explain.parted import as_parted
from tinyrt.quantize.mixed.budget import Budget


def thirds(net: Net) -> list[str]:
    """Slices of the channels."""
    return [
        net.op("slice", (net.whole,), SliceAttrs((0, 0, at), (1, 6, 8), (1, 1, 1)))
        for at in (0, 8, 16)
    ]


def both(build, tmp_path) -> tuple[Graph, Graph, np.ndarray, str]:
    net = Net(ratio=30.0)
    graph = net.graph(*(net.op("tanh", (y,)) for y in build(net)))
    x = np.random.default_rng(1).normal(size=(64, 6, 8)).astype(np.float32)
    save_tflite(quantize_graph(graph, x, QuantConfig()), tmp_path / "int8.tflite")
    return graph, read_tflite(tmp_path / "int8.tflite"), x, net.whole


@pytest.mark.parametrize("build", [thirds, in_heads, in_front])
def test_a_model_whose_only_layer_was_taken_apart_is_compared(build, tmp_path):
    graph, int8, x, whole = both(build, tmp_path)
    layers = [n.output for n in int8.nodes if n.op == "fully_connected"]
    assert len(layers) == 3
    report = debug_graphs(graph, int8, {"x": x})
    assert {layer.name for layer in report.layers if layer.part_of == whole} == set(layers)
    assert all(layer.part_of is None for layer in report.layers if layer.name not in layers)
    assert report.sqnr_db > 25
    assert {layer.op for layer in report.layers if layer.part_of} == {"fully_connected"}


@pytest.mark.parametrize("build", [thirds, in_heads, in_front])
def test_the_float_model_keeps_its_answers(build, tmp_path):
    graph, int8, x, _ = both(build, tmp_path)
    parted, origins = as_parted(graph, int8)
    assert len(origins) == 3
    for one, two in zip(Model(graph)(x).values(), Model(parted)(x).values(), strict=True):
        assert sqnr_db(one, two).min() > 120


def test_layers_that_stayed_whole_stay(tmp_path):
    net = Net(ratio=1.0)
    graph = net.graph(*(net.op("tanh", (y,)) for y in thirds(net)))
    x = np.random.default_rng(1).normal(size=(64, 6, 8)).astype(np.float32)
    int8 = quantize_graph(graph, x, QuantConfig())
    assert as_parted(graph, int8) == (graph, {})


@pytest.mark.parametrize("build", [thirds, in_heads, in_front])
def test_a_layer_of_which_a_part_is_missing_stays_whole(build, tmp_path):
    graph, int8, *_ = both(build, tmp_path)
    for part in [n.output for n in int8.nodes if n.op == "fully_connected"]:
        assert as_parted(graph, renamed(int8, part, "other")) == (graph, {})


@pytest.mark.parametrize("build", [thirds, in_heads, in_front])
def test_bisecting_measures_the_parts_one_by_one(build, tmp_path):
    """None alone helps: the others read the same input in int8."""
    graph, int8, x, _ = both(build, tmp_path)
    report = bisect(graph, int8, {"x": x}, target=Budget(min_sqnr_db=60.0))
    assert not report.reached
    assert report.result.sqnr_db == report.start.sqnr_db > 30
