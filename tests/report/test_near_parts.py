"""One part of a condition alone is not met: weights, kernels, shapes and a first model."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.report.made import reported
from tinyrt.api import inspect_model
from tinyrt.api.inspection import inspect_graph
from tinyrt.backends.c.choice import KERNELS, find
from tinyrt.backends.c.planning import CKernels
from tinyrt.backends.c.reasons import reason
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.decibels import CEILING_DB
from tinyrt.export import find_core
from tinyrt.export.target import Optimize, target_of
from tinyrt.ir import DType, Graph, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.report import render_page
from tinyrt.report.compare import compared
from tinyrt.report.facts import OpOnCore, Quality
from tinyrt.report.gather import _ops, arena_of, by_kernel
from tinyrt.report.graph import draw_graph
from tinyrt.report.histograms import weight_histograms
from tinyrt.report.models import graph_facts
from tinyrt.report.view import MAX_BARS, Shading, section_of

# Right answers and dB of two models, and the changes from the first to the second.
QUALITIES = [
    ((0.5, 30.0), (0.75, 36.0), (25.0, 6.0)),
    ((0.5, 30.0), (0.75, CEILING_DB), (25.0, None)),
    ((0.5, CEILING_DB), (0.75, 36.0), (25.0, None)),
    ((0.5, None), (0.75, 36.0), (25.0, None)),
    ((None, 30.0), (0.75, 36.0), (None, 6.0)),
    ((0.5, 30.0), (None, None), (None, None)),
    ((0.0, 30.0), (0.75, 0.0), (75.0, -30.0)),
]


@pytest.mark.parametrize(("first", "second", "changes"), QUALITIES)
def test_changes_are_told_where_both_models_have_the_figure(first, second, changes):
    model = reported()[0].models[0]
    models = [replace(model, quality=Quality(8, 4, q[0], None, q[1])) for q in (first, second)]
    rows = {row.label: row for row in compared(models)}
    found = [rows[label].changes[1] for label in ("right, share", "SQNR against float, dB")]
    assert found == [change if change is None else pytest.approx(change) for change in changes]


def test_inputs_that_are_left_out_or_never_read():
    """A layer without a bias, and a tensor that lies in the arena before the first op alone."""
    b = Builder((1, 4), (3,))
    w = b.constant(np.ones((3, 4), np.float32))
    graph = b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs()))
    graph = replace(graph, nodes=(replace(graph.nodes[0], inputs=("x", w, "")),))
    (op,) = graph_facts(graph, "net").ops
    assert [tensor.name for tensor in op.inputs] == ["x", w]
    arena = arena_of(inspect_graph(graph, CKernels(target_of(find_core("m4"), Optimize.SIZE))))
    lives = {buffer.names: (buffer.first, buffer.last) for buffer in arena.buffers}
    assert lives == {("x",): (0, 0), ("x1",): (0, 0), graph.outputs: (0, 0)}


def test_ops_without_costs_and_bars():
    model = reported()[0].models[0]
    ops = tuple(replace(model.ops[0], index=i) for i in range(MAX_BARS + 3))
    section = section_of(replace(model, ops=ops, cores=()), Shading((1,) * len(ops), ""))
    assert (len(section["bars"]), section["more_bars"], section["rest"]) == (MAX_BARS, 3, 0)


def test_what_others_cost_is_told_of_ops_whose_own_costs_are_none_or_unknown():
    costs = [(0, 5), (None, 7), (9, None), (9, 0), (None, None), (3, 4)]
    b, y = Builder((1, 8)), "x"
    for _ in costs:
        y = b.op("relu", (y,))
    target = target_of(find_core("m4"), Optimize.SIZE)
    inspection = inspect_graph(b.graph(y), CKernels(target))
    node = next(inspection.graph.bound())
    kernel = find(node, target)
    told = kernel.name, reason(node, kernel, target.isa)
    assert list(_ops(inspection, target, costs)) == [
        OpOnCore(*pair, op.arena_bytes, *told)
        for pair, op in zip(costs, inspection.ops, strict=True)
    ]


def test_an_op_whose_output_is_its_input_costs_nothing_and_no_op_does_on_this_machine():
    b = Builder((1, 8))
    y = b.op("relu", (b.op("reshape", (b.op("relu", ("x",)),), ReshapeAttrs((2, 4))),))
    core = find_core("m4")
    inspection = inspect_graph(b.graph(y), CKernels(target_of(core, Optimize.SIZE)))
    assert inspection.plan.idle == {1}
    found = by_kernel(replace(inspection, core=core.name))
    costs = [op.instructions for op in found.ops]
    assert costs == [costs[0], 0, costs[0]]
    assert found.instructions == pytest.approx(2 * costs[0], abs=1)
    assert found.instructions_per_mac is None
    host = by_kernel(replace(inspection, core="host"))
    assert (host.instructions, [op.instructions for op in host.ops]) == (None, [None] * 3)


@pytest.mark.parametrize("computed", [False, True])
def test_weights_that_the_model_computes_have_no_histogram(computed):
    b = Builder((1, 4), (3, 4))
    w = "x1" if computed else b.constant(np.ones((3, 4), np.float32))
    graph = b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs()))
    assert [histogram.name for histogram in weight_histograms(graph)] == [w] * (not computed)


@pytest.mark.parametrize(
    ("shape", "text"), [((), "one number"), ((1,), "1"), ((1, 1), "1 x 1"), ((0, 2), "0 x 2")]
)
def test_a_shape_without_axes_is_said_in_words(shape, text):
    model = reported()[0].models[0]
    op = model.ops[0]
    port = replace(op.outputs[0], shape=shape)
    drawing = draw_graph(replace(model, ops=(replace(op, outputs=(port,)),)), [1])
    assert drawing.boxes[0].lines[0] == text


def whole_numbers(op: str, attrs: object = None) -> Graph:
    """An op on two tensors of int32."""
    b = Builder((4,), (4,))
    b.values |= {name: Value(name, DType.INT32, (4,)) for name in b.inputs}
    return b.graph(b.op(op, b.inputs, attrs))


@pytest.mark.parametrize("lacking", ["", "kernel for its integers", "kernel"])
def test_a_model_whose_op_has_no_kernel_has_a_page_without_costs(lacking, tmp_path, monkeypatch):
    difference = whole_numbers("squared_difference")
    graph = difference if "integers" in lacking else whole_numbers("add", AddAttrs())
    save_tflite(graph, tmp_path / "net.tflite")
    if lacking == "kernel":
        monkeypatch.setitem(KERNELS, "add", {})
    inspection = inspect_model(tmp_path / "net.tflite", core="m4")
    found = by_kernel(inspection)
    assert [bool(op.kernel and op.why) for op in found.ops] == [not lacking]
    assert (found.instructions is None) == bool(lacking)
    assert ("some op has no C kernel" in render_page(inspection)) == bool(lacking)
