"""Accuracy, agreement and SQNR, on cases worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.ops.quantised import graph_of, s8
from tinyrt.answering import logits_name
from tinyrt.decibels import shown_db
from tinyrt.errors import DataError
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.metrics import evaluate_graph, sqnr_db
from tinyrt.ops import verify
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs


def _classifier(factor: float):
    b = Builder((1, 3))
    scaled = b.op("mul", ("x", b.constant(np.full((1, 3), factor, np.float32))), MulAttrs())
    return b.graph(b.op("softmax", (scaled,), SoftmaxAttrs()))


X = np.array([[3, 1, 0], [0, 2, 1], [1, 0, 5], [9, 8, 7]], np.float32)


def test_accuracy_agreement_and_sqnr():
    found = evaluate_graph(_classifier(1.1), {"x": X}, np.array([0, 1, 2, 1]), _classifier(1.0))
    assert (found.samples, found.correct, found.top1) == (4, 3, 0.75)
    assert found.agreement == 1.0
    # The logits are 10 % off, so noise is 1/100 of the signal's power: 20 dB.
    assert found.sqnr_db == pytest.approx(20.0, abs=1e-3)


def test_without_labels_or_other_model_those_figures_are_absent():
    found = evaluate_graph(_classifier(1.0), {"x": X})
    assert (found.correct, found.top1, found.agreement, found.sqnr_db) == (None,) * 4


def test_one_hot_labels():
    found = evaluate_graph(_classifier(1.0), {"x": X}, np.eye(3)[[0, 1, 2, 0]])
    assert found.correct == 4


@pytest.mark.parametrize("labels", [np.array([0, 1, 2, 3]), np.array([0, 1]), np.ones(4)])
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(DataError, match="labels 'y'"):
        evaluate_graph(_classifier(1.0), {"x": X}, labels)


def test_equal_signals_count_as_the_ceiling():
    np.testing.assert_array_equal(sqnr_db(X, X), [200.0] * 4)


@pytest.mark.parametrize(
    ("db", "given", "shown"),
    [
        (199.94, {}, "199.9"),
        (200.0, {"unit": " dB"}, "equal"),
        (250.0, {}, "equal"),
        (-3.456, {"places": 2, "unit": " dB"}, "-3.46 dB"),
        (12.5, {"places": 0}, "12"),
    ],
)
def test_a_distance_is_a_number_up_to_that_of_equal_signals(db, given, shown):
    assert shown_db(db, **given) == shown


def test_logits_stand_before_a_final_softmax():
    assert logits_name(small_cnn()) == "fully_connected_6"


def behind_softmax(op: str, dtype: DType) -> Graph:
    """A softmax of that dtype, and one op behind it; not verified."""
    values = {name: Value(name, DType.FLOAT32, (1, 3)) for name in ("x", "y")}
    values["p"] = Value("p", dtype, (1, 3))
    nodes = Node("softmax", "p", ("x",), ("p",)), Node(op, "y", ("p",), ("y",))
    return Graph("net", ("x",), ("y",), values, nodes)


@pytest.mark.parametrize(
    ("op", "dtype", "logits"),
    [
        ("dequantize", DType.INT8, "x"),
        ("quantize", DType.FLOAT32, "x"),
        ("reshape", DType.FLOAT32, "y"),
        ("neg", DType.FLOAT32, "y"),
    ],
)
def test_logits_stand_before_a_softmax_whose_answers_are_stored_otherwise(op, dtype, logits):
    assert logits_name(behind_softmax(op, dtype)) == logits


def test_the_other_model_is_fed_the_real_values_of_integers():
    shape = ReshapeAttrs((1, 2, 2))
    stored = graph_of("reshape", shape, [s8(1, 4)], [s8(1, 2, 2)])
    b = Builder((1, 4))
    x = np.random.default_rng(0).integers(-128, 128, (9, 4)).astype(np.int8)
    (name,) = stored.inputs
    found = evaluate_graph(stored, {name: x}, against=b.graph(b.op("reshape", ("x",), shape)))
    assert (found.agreement, found.sqnr_db) == (1.0, 200.0)


def places_of(op: str, y: str) -> Graph:
    """The CNN's classes, as the model's own answer."""
    graph = small_cnn()
    values = {**graph.values, "y": Value("y", DType.INT64, (1, 1))}
    shaped = Value("shaped", DType.FLOAT32, (1, 1, 5))
    nodes = (
        *graph.nodes,
        Node("reshape", "shaped", (y,), ("shaped",), ReshapeAttrs((1, 1, 5))),
        Node(op, "y", ("shaped",), ("y",), ArgAttrs(-1, DType.INT64)),
    )
    return verify(replace(graph, outputs=("y",), values=values | {"shaped": shaped}, nodes=nodes))


def test_a_model_that_answers_with_places():
    graph, plain = places_of("arg_max", small_cnn().outputs[0]), small_cnn()
    assert logits_name(graph) == "fully_connected_6"
    assert logits_name(places_of("arg_min", "fully_connected_6")) == "fully_connected_6"
    x = np.random.default_rng(0).normal(size=(20, 8, 8, 3)).astype(np.float32)
    labels = Model(plain)(x).argmax(axis=1)
    labels[:5] = (labels[:5] + 1) % 5
    found = evaluate_graph(graph, {"x": x}, labels, plain)
    assert (found.correct, found.top1, found.agreement, found.sqnr_db) == (15, 0.75, 1.0, 200.0)
    assert found.correct == evaluate_graph(plain, {"x": x}, labels).correct
    with pytest.raises(DataError, match=r"labels 'y' are int64\[19\]"):
        evaluate_graph(graph, {"x": x}, labels[1:])
