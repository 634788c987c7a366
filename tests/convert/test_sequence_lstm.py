"""ONNX's LSTM as TFLite's op for sequences: it equals onnxruntime, LiteRT and tflite-micro."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper

import tinyrt
from tests.convert.onnx_build import OnnxModel, assert_close, count, expected, feeds_for
from tests.convert.test_onnx_forms import body
from tests.graphs import lstm_net
from tests.ops.stateful import keeping
from tests.sampling import sampled
from tinyrt.api import open_model
from tinyrt.convert.lstm_states import begun_anew
from tinyrt.convert.tflite.reader import parse_tflite, read_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ConversionWarning, ModelFormatError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Node, Value
from tinyrt.metrics import evaluate_graph
from tinyrt.ops.add import AddAttrs
from tinyrt.quantize import quantize_graph
from tinyrt.quantize.config import Preset, Scheme, configure

OP = "unidirectional_sequence_lstm"
STEPS, INPUTS, HIDDEN = 6, 5, 8
DIRECTIONS = ("forward", "reverse", "bidirectional")


def layer(m, direction="forward", batch=1, extra=(), **attrs):
    """An LSTM's first output name; inputs that follow the bias are the extra ones."""
    sides = 2 if direction == "bidirectional" else 1
    weights = [m.weights(sides, 4 * HIDDEN, n) for n in (INPUTS, HIDDEN)]
    operands = (m.input(STEPS, batch, INPUTS), *weights, m.weights(sides, 8 * HIDDEN), *extra)
    return m.op("LSTM", *operands, outputs=3, hidden_size=HIDDEN, direction=direction, **attrs)


def classifier(folder, direction="forward"):
    m = OnnxModel(17, seed=3)
    last = m.op("Reshape", layer(m, direction) + "_1", m.ints(1, -1))
    columns = HIDDEN * (2 if direction == "bidirectional" else 1)
    return m.save(folder, m.op("Gemm", last, m.weights(columns, 4), m.weights(4)))


def samples(runs, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((runs * STEPS, 1, INPUTS)).astype(np.float32)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_it_equals_onnxruntime_and_litert(direction, batch, tmp_path):
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs ai-edge-litert")
    m = OnnxModel(17, seed=3)
    y = layer(m, direction, batch)
    path = m.save(tmp_path, y, m.op("Identity", y + "_1"))
    data = write_tflite(open_model(path, sequence_lstm=True))
    graph = parse_tflite(data)
    assert count(graph, OP) == (2 if direction == "bidirectional" else 1)
    assert graph.states == ()
    model, peer = Model(graph), litert.Interpreter(model_content=data)
    peer.allocate_tensors()
    for seed in range(2):
        feeds = feeds_for(graph, seed)
        peer.reset_all_variables()
        peer.set_tensor(peer.get_input_details()[0]["index"], feeds["x"])
        peer.invoke()
        theirs = [peer.get_tensor(d["index"]) for d in peer.get_output_details()]
        answers = zip(model.run(feeds).values(), theirs, expected(path, feeds), strict=True)
        for ours, other, want in answers:
            assert_close(ours, want)
            assert_close(other, want)


MISFITS = {
    "peepholes": lambda m: layer(m, extra=("", "", "", m.weights(1, 3 * HIDDEN))),
    "gates are clipped": lambda m: layer(m, clip=0.5),
    "activations are": lambda m: layer(m, activations=["HardSigmoid", "Tanh", "Tanh"]),
    "a given state": lambda m: layer(m, extra=("", m.weights(1, 1, HIDDEN))),
    "begins with a given state": lambda m: layer(m, extra=("", "", m.weights(1, 1, HIDDEN))),
    "last cell state": lambda m: layer(m) + "_2",
}


@pytest.mark.parametrize("reason", MISFITS)
def test_where_the_op_does_not_fit_it_is_unrolled_and_says_why(reason, tmp_path):
    m = OnnxModel(17)
    path = m.save(tmp_path, MISFITS[reason](m))
    with pytest.warns(ConversionWarning, match=f"is unrolled: .*{reason}"):
        graph = open_model(path, sequence_lstm=True)
    assert count(graph, OP) == 0


def test_zeros_and_whole_sequences_fit(tmp_path):
    m = OnnxModel(17)
    zeros = m.const(np.zeros((1, 1, HIDDEN)))
    y = layer(m, extra=(m.const([STEPS], np.int32), zeros, zeros))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert count(open_model(m.save(tmp_path, y), sequence_lstm=True), OP) == 1


def test_by_default_it_is_unrolled(tmp_path):
    assert count(open_model(classifier(tmp_path)), OP) == 0


CONFIGS = {
    "int8": (configure(None), 30),
    "int16x8": (configure(None, scheme=Scheme.INT16X8), 38),
    "four bits": (configure(None, scheme_for=((OP, Scheme.INT4),)), 10),
}
"""What is quantised to, and least distance from the float model in dB."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "config"),
    [
        *(("forward", config) for config in sampled(["int8"], CONFIGS)),
        *(("bidirectional", config) for config in sampled([], CONFIGS)),
    ],
)
def test_quantised_it_equals_tflite_micro(direction, config, tmp_path):
    tflm = pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    path, file = classifier(tmp_path, direction), tmp_path / "quantised.tflite"
    chosen, least = CONFIGS[config]
    with pytest.warns(ConversionWarning, match="reset the variables before each"):
        tinyrt.quantize_model(path, samples(60), file, sequence_lstm=True, config=chosen)
    x = samples(12, seed=1)
    assert tinyrt.evaluate(file, x, against=path).sqnr_db > least
    model = Model(read_tflite(file))
    stored = model.stored_inputs(x)["x"]
    (ours,) = model.run_raw({"x": stored}).values()
    peer = tflm.runtime.Interpreter.from_bytes(file.read_bytes(), arena_size=1 << 20)
    for i, want in enumerate(ours):
        peer.reset()
        peer.set_input(stored[i * STEPS : (i + 1) * STEPS], 0)
        peer.invoke()
        np.testing.assert_array_equal(peer.get_output(0)[0], want)


@pytest.mark.parametrize(
    ("choices", "most"),
    [
        ({}, 127),
        ({"scheme": Scheme.INT4}, 127),
        ({"scheme_for": ((OP, Scheme.INT4),)}, 7),
    ],
)
def test_four_bits_are_for_those_that_name_it(choices, most, tmp_path):
    """Weights stay in int8, since no runtime reads others: int4 is what their values fit."""
    graph = open_model(classifier(tmp_path), sequence_lstm=True)
    config = configure(Preset.FAST, **choices)
    (node,) = (n for n in quantize_graph(graph, samples(60), config).bound() if n.op == OP)
    for w in node.inputs[1:9]:
        assert w.dtype is DType.INT8
        assert np.abs(w.data).max() == most


@pytest.mark.parametrize(
    "scheme", [pytest.param(Scheme.INT8, marks=pytest.mark.whole), Scheme.WEIGHTS_INT8]
)
def test_it_may_stay_in_float(scheme, tmp_path):
    graph = open_model(classifier(tmp_path), sequence_lstm=True)
    quantized = quantize_graph(graph, samples(60), configure(None, scheme=scheme, keep_float=(OP,)))
    (node,) = (n for n in quantized.bound() if n.op == OP)
    assert {v.dtype for v in (*node.inputs, *node.outputs)} == {DType.FLOAT32}
    assert evaluate_graph(quantized, {"x": samples(12, seed=1)}, against=graph).sqnr_db > 30


def test_a_layer_that_a_loop_repeats_has_variables_of_its_own_each_time(tmp_path):
    m = OnnxModel(17)
    weights = [m.weights(1, 4 * INPUTS, INPUTS), m.weights(1, 4 * INPUTS, INPUTS)]
    shape = [STEPS, 1, INPUTS]
    nodes = [
        helper.make_node("LSTM", ["h", *weights], ["y"], hidden_size=INPUTS),
        helper.make_node("Reshape", ["y", m.ints(*shape)], ["h_next"]),
        helper.make_node("Identity", ["going"], ["goes_on"]),
    ]
    looped = body(
        [("i", TensorProto.INT64, []), ("going", TensorProto.BOOL, []), ("h", 1, shape)],
        nodes,
        [("goes_on", TensorProto.BOOL, []), ("h_next", 1, shape)],
    )
    going = m.const(True, np.bool_)
    path = m.save(tmp_path, m.op("Loop", m.const(2, np.int64), going, m.input(*shape), body=looped))
    graph = parse_tflite(write_tflite(open_model(path, sequence_lstm=True)))
    assert count(graph, OP) == 2
    feeds = feeds_for(graph)
    (found,) = Model(graph).run(feeds).values()
    assert_close(found, expected(path, feeds)[0])


def test_what_the_file_says_of_its_variables_must_be_names(tmp_path):
    graph = open_model(classifier(tmp_path), sequence_lstm=True)
    with pytest.raises(ModelFormatError, match=r"tinyrt\.fresh"):
        parse_tflite(write_tflite(graph, {"tinyrt.fresh": b"5"}))


def test_states_stay_where_other_ops_keep_some_too():
    alone = keeping(lstm_net())
    assert begun_anew(alone).states == ()
    number, later = (Value(name, DType.FLOAT32, (1,)) for name in ("count", "later"))
    both = replace(
        alone,
        inputs=(*alone.inputs, "count"),
        outputs=(*alone.outputs, "later"),
        values=alone.values | {"count": number, "later": later},
        nodes=(*alone.nodes, Node("add", "later", ("count", "count"), ("later",), AddAttrs())),
        states=(*alone.states, ("count", "later")),
    )
    assert begun_anew(both) is both
