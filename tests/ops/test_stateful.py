"""Ops that keep state: run after run bit for bit as TFLM, and anew after a reset."""

from dataclasses import replace

import numpy as np
import pytest
import tflite

from tests.graphs import lstm_net
from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.stateful import PLACES, answers, keeping, sequence
from tests.sampling import sampled
from tinyrt.convert.tflite.metadata import read_entry
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.states import STATES
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError, TinyrtError, UnsupportedError
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.unidirectional_sequence_lstm import CELL, HIDDEN

FORMS = [
    ("svdf", build_f32),
    ("svdf", build_s8),
    ("unidirectional_sequence_lstm", build_f32),
    ("unidirectional_sequence_lstm", build_s8),
    ("unidirectional_sequence_lstm", build_s16),
]
CASES_OF = {"reference": sampled(5, 60), "numba": sampled(5, 60), "native": sampled(1, 3)}
"""Backend -> cases; tests/c runs many more of the kernels of native."""
RUNS = 4


def tflm_answers(data, inputs):
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    interpreter = tflm.runtime.Interpreter.from_bytes(data, arena_size=1 << 18)
    found = []
    for x in inputs:
        interpreter.set_input(x, 0)
        interpreter.invoke()
        found.append(interpreter.get_output(0))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("backend", CASES_OF)
@pytest.mark.parametrize(("op", "build"), FORMS)
def test_runs_in_a_row_equal_the_device(op, build, backend):
    for seed in range(CASES_OF[backend]):
        rng = rng_of(op, seed)
        graph = keeping(build(CASES[op](rng), rng).graph)
        data, inputs = write_tflite(graph), sequence(graph, rng, RUNS)
        interpreter = Interpreter(model_content=data, backend=backend)
        interpreter.allocate_tensors()
        found = answers(interpreter, inputs)
        interpreter.reset_all_variables()
        again = answers(interpreter, inputs[:1])
        np.testing.assert_array_equal(again[0], found[0], err_msg=f"seed {seed}")
        for y, expected in zip(found, tflm_answers(data, inputs), strict=True):
            if build is build_f32:
                np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-6)
            else:
                np.testing.assert_array_equal(y, expected, err_msg=f"seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize(("op", "build"), [form for form in FORMS if form[1] is not build_s16])
def test_litert_reads_the_files_and_agrees(op, build):
    """Its integer kernels round otherwise here and there: TFLM's are the rule."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs ai-edge-litert")
    for seed in range(sampled(6, 20)):
        rng = rng_of(op, seed)
        graph = keeping(build(CASES[op](rng), rng).graph)
        if op == "svdf" and build is build_s8 and not _litert_has(graph):
            continue
        data, inputs = write_tflite(graph), sequence(graph, rng, RUNS)
        ours = Interpreter(model_content=data)
        peer = litert.Interpreter(
            model_content=data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF
        )
        ours.allocate_tensors()
        peer.allocate_tensors()
        atol = 1e-6 if build is build_f32 else 2
        for y, expected in zip(answers(ours, inputs), answers(peer, inputs), strict=True):
            np.testing.assert_allclose(
                y.astype(np.float64), expected, rtol=1e-4, atol=atol, err_msg=f"seed {seed}"
            )


def _litert_has(graph):
    """Integer SVDF: LiteRT's has an int16 state, and takes no activation but RELU."""
    (node,) = graph.nodes
    return node.attrs.activation == "RELU" and graph.value(node.inputs[4]).dtype is DType.INT16


def test_states_are_no_ports_of_the_file():
    rng = rng_of("svdf", 0)
    graph = parse_tflite(write_tflite(keeping(build_s8(CASES["svdf"](rng), rng).graph)))
    assert graph.fed == ("in0",)
    assert graph.answers == ("out",)
    assert graph.states == (("in4", "in4/next"),)


def test_states_of_ops_and_of_the_graph_lie_side_by_side():
    """Those of the op are its variable tensors, those of the graph stand in the metadata."""
    rng = rng_of("svdf", 0)
    graph = keeping(build_s8(CASES["svdf"](rng), rng).graph)
    values = dict(graph.values)
    for name in ("own", "own/next"):
        values[name] = replace(values["out"], name=name)
    kept = Node("maximum", "kept", ("out", "own"), ("own/next",), OPS["maximum"].attrs())
    both = verify(
        replace(
            graph,
            inputs=(*graph.inputs, "own"),
            outputs=(*graph.outputs, "own/next"),
            values=values,
            nodes=(*graph.nodes, kept),
            states=(*graph.states, ("own", "own/next")),
        )
    )
    data = write_tflite(both)
    found = parse_tflite(data)
    assert (found.fed, found.answers) == (graph.fed, graph.answers)
    assert sorted(found.states) == [("in4", "in4/next"), ("own", "own/next")]
    model = tflite.Model.GetRootAs(bytes(data))
    assert read_entry(model, STATES) == b'[["own", "own/next"]]'


def test_a_state_from_elsewhere_cannot_be_written():
    rng = rng_of("svdf", 0)
    graph = build_s8(CASES["svdf"](rng), rng).graph
    with pytest.raises(UnsupportedError, match="give this op its state") as caught:
        write_tflite(graph)
    (node,) = graph.bound()
    assert caught.value.op == node.describe()
    assert caught.value.tensor == node.input(4).describe()
    assert caught.value.expected.startswith("a state of the graph that this op alone changes")


def test_states_that_begin_anew_are_zeros_whose_next_values_nothing_reads():
    graph = lstm_net()
    (node,) = graph.nodes
    names = [node.inputs[i] for i in (HIDDEN, CELL)]
    zeros = {name: Value.constant(name, np.zeros((1, 4), np.float32)) for name in names}
    begun = replace(graph, values=graph.values | zeros)
    assert parse_tflite(write_tflite(begun)).answers == ("all",)
    one = Value.constant(names[1], np.eye(1, 4, dtype=np.float32))
    refused = [replace(begun, values=begun.values | {one.name: one})]
    refused += [replace(begun, outputs=("all", name)) for name in node.outputs[1:]]
    for other in refused:
        with pytest.raises(UnsupportedError, match="give this op its state"):
            write_tflite(other)


def test_two_ops_cannot_share_a_state():
    rng = rng_of("svdf", 0)
    graph = keeping(build_s8(CASES["svdf"](rng), rng).graph)
    (node,) = graph.nodes
    values = dict(graph.values)
    for name in ("out", "out1"):
        value = values[name]
        values[f"{name}b"] = type(value)(f"{name}b", value.dtype, value.shape, value.q)
    twin = Node("svdf", "twin", node.inputs, ("outb", "out1b"), node.attrs)
    two = Graph("two", graph.inputs, (*graph.outputs, "outb"), values, (node, twin), graph.states)
    with pytest.raises(UnsupportedError, match="its state"):
        write_tflite(verify(two))


@pytest.mark.parametrize("op", PLACES)
def test_scales_of_states_must_be_kept(op):
    rng = rng_of(op, 0)
    graph = keeping(build_s8(CASES[op](rng), rng).graph)
    last = graph.value(graph.nodes[0].outputs[-1])
    wrong = type(last)(last.name, last.dtype, last.shape, graph.value("in1").q)
    changed = Graph(
        "changed", graph.inputs, graph.outputs, graph.values | {last.name: wrong}, graph.nodes
    )
    with pytest.raises(TinyrtError, match="another scale"):
        OPS[op].check_quant(changed.bind(0))


def test_what_is_no_variable_is_refused(monkeypatch):
    rng = rng_of("svdf", 0)
    graph = keeping(build_s8(CASES["svdf"](rng), rng).graph)
    monkeypatch.setattr("tinyrt.convert.tflite.writer._variables", lambda graph: ({}, frozenset()))
    with pytest.raises(ModelFormatError, match="variable"):
        parse_tflite(write_tflite(graph))
