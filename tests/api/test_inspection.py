"""What an inspection says of a model: plans as asked for, and figures only where there are some."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.c.wide_layers import chain
from tests.graphs import small_cnn
from tests.memory.targets import kernels_for
from tests.quantize.test_mixed import samples
from tinyrt import api
from tinyrt.api.costs import cost_by_formula
from tinyrt.api.inspection import inspect_graph, placement_of
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.interpreter import Interpreter
from tinyrt.quantize import QuantConfig, quantize_graph


@pytest.fixture
def path(tmp_path):
    save_tflite(quantize_graph(small_cnn(), samples(100), QuantConfig()), tmp_path / "net.tflite")
    return tmp_path / "net.tflite"


def test_the_plan_is_the_one_that_was_asked_for(path):
    whole, by_rows, pushed = (
        api.inspect_model(path, **options)
        for options in ({}, {"by_rows": True}, {"input_rows": True})
    )
    assert not whole.plan.segments
    assert [segment.pushed for segment in pushed.plan.segments] == [*whole.graph.inputs]
    assert all(segment.pushed is None for segment in by_rows.plan.segments)
    assert whole.graph.inputs[0] in whole.plan.offsets
    assert whole.graph.inputs[0] not in pushed.plan.offsets
    assert by_rows.arena_bytes <= whole.arena_bytes
    assert whole.macs == pushed.macs > 0


def test_layers_that_are_put_together_in_the_code_are_so_in_an_inspection():
    graph = chain(3)
    found = inspect_graph(graph, kernels_for("cortex-m4"))
    assert len(found.ops) < len(graph.nodes)
    assert found.arena_bytes == cost_by_formula(graph, "cortex-m4").arena


def test_packed_bytes_are_none_where_the_host_cannot_run_the_model(path, monkeypatch):
    assert api.inspect_model(path).packed_bytes > 0

    def refuse(interpreter):
        raise UnsupportedError("no such kernel")

    monkeypatch.setattr(Interpreter, "allocate_tensors", refuse)
    assert api.inspect_model(path).packed_bytes is None


def test_every_op_has_its_costs_and_the_model_their_sum(path):
    found = api.inspect_model(path)
    graph = found.graph
    assert [(op.name, op.op) for op in found.ops] == [(n.name, n.op) for n in graph.nodes]
    assert [op.output_shape for op in found.ops] == [n.output.shape for n in graph.bound()]
    convolutions = (8 * 8 * 8 * 3 * 9, 8 * 8 * 8 * 8 * 9, 4 * 4 * 6 * 8)
    assert [op.macs for op in found.ops if op.op == "conv2d"] == [*convolutions]
    assert [op.macs for op in found.ops if op.op == "fully_connected"] == [5 * 6]
    assert found.macs == sum(op.macs for op in found.ops)
    constants = [v.data.nbytes for v in graph.values.values() if v.data is not None]
    assert found.weight_bytes == sum(constants)
    alive = [op.arena_bytes for op in found.ops]
    assert alive == found.plan.alive_bytes(len(graph.nodes))
    assert max(alive) <= found.arena_bytes
    assert len(set(alive)) > 1


def test_ops_run_where_their_segment_does(path):
    found = api.inspect_model(path)
    assert (found.placement, found.device_of(0)) == ((), "")
    parts = (("gpu", (0, 2)), ("cpu", (1,)))
    segments = tuple(SimpleNamespace(device=device, nodes=nodes) for device, nodes in parts)
    placed = replace(found, placement=segments)
    assert [placed.device_of(i) for i in range(4)] == ["gpu", "cpu", "gpu", ""]
    with pytest.raises(DataError, match="backend numba runs all ops in one place") as caught:
        placement_of(found.graph, "numba")
    assert caught.value.expected == "backend cuda"
