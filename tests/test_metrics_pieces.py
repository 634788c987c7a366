"""Evaluations piece by piece: figures of the whole, progress of the whole, within the budget."""

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tinyrt import answering
from tinyrt.answering import Answers, Setting, answers_of, logits_name
from tinyrt.errors import BudgetError, DataError
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.metrics import evaluate_graph, sqnr_db
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs


def classifier(factor, softmax=True):
    b = Builder((1, 3))
    factors = b.constant(np.array([factor], np.float32))
    scaled = b.op("mul", ("x", factors), MulAttrs())
    return b.graph(b.op("softmax", (scaled,), SoftmaxAttrs()) if softmax else scaled)


def in_rows():
    """Two rows of answers to each sample."""
    b = Builder((1, 6))
    return b.graph(b.op("reshape", ("x",), ReshapeAttrs((2, 3))))


@pytest.fixture
def x(monkeypatch):
    """More samples than a piece has."""
    monkeypatch.setattr("tinyrt.interpreter.model.PIECE", 1)
    return np.random.default_rng(0).normal(size=(700, 3)).astype(np.float32)


def test_figures_of_pieces_are_those_of_the_whole(x):
    labels = x.argmax(axis=1)
    labels[::7] = (labels[::7] + 1) % 3
    mine, other = classifier(1.1), classifier(1.0)
    for against in (other, answers_of(other, {"x": x})):
        found = evaluate_graph(mine, {"x": x}, labels, against, backend="reference")
        assert (found.samples, found.correct, found.top1) == (700, 600, 600 / 700)
        assert found.agreement == 1
        assert found.sqnr_db == pytest.approx(20, abs=1e-3)
        assert found.backend == "reference"


@pytest.mark.parametrize(("model", "size"), [(classifier(1.0, False), 3), (in_rows(), 6)])
def test_agreement_and_noise_are_of_each_row_of_answers(x, model, size):
    samples = x.reshape(-1, size)
    other = answers_of(model, {"x": samples})
    outputs = other.outputs.copy()
    outputs[-70:] = -outputs[-70:]
    against = Answers(outputs, outputs, 1.0, 700)
    found = evaluate_graph(model, {"x": samples}, against=against)
    assert (found.samples, found.agreement) == (700, 630 / 700)
    # Noise of twice the signal: 10 log10(1/4) dB.
    assert found.sqnr_db == pytest.approx((630 * 200 - 70 * 10 * np.log10(4)) / 700)


def test_progress_counts_the_samples_of_all_pieces(x):
    seen = []
    evaluate_graph(classifier(1.0), {"x": x}, progress=lambda *done: seen.append(done))
    done = [count for count, _ in seen]
    assert {total for _, total in seen} == {700}
    assert done == sorted(done)
    assert (done[-1], len(seen) > 2) == (700, True)


def test_an_evaluation_keeps_to_the_memory_that_it_is_given(x):
    for asked in (
        lambda: evaluate_graph(classifier(1.0), {"x": x}, max_memory=10),
        lambda: answers_of(classifier(1.0), {"x": x}, Setting(max_memory=10)),
    ):
        with pytest.raises(BudgetError):
            asked()


def test_throughput_is_samples_over_the_seconds_that_the_model_took(x, monkeypatch):
    ticks = itertools.count(9, 0.5)
    monkeypatch.setattr(answering, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    found = evaluate_graph(classifier(1.0), {"x": x[:10]}, against=classifier(2.0))
    assert found.samples_per_second == 20


@pytest.mark.parametrize(
    ("signal", "found", "db"),
    [
        ([[1, 1]], [[1, 1]], 200),
        ([[0, 0]], [[0, 0]], 200),
        ([[0, 0]], [[1, 0]], -np.inf),
        ([[3, 4]], [[3, 3.5]], 20),
        ([[1e20, 0]], [[1e20, 1]], 200),
        ([[[1], [0]]], [[1, 1]], 0),
    ],
)
def test_noise_in_decibels(signal, found, db):
    (value,) = sqnr_db(np.array(signal, float), np.array(found, float))
    assert value == pytest.approx(db)
    assert sqnr_db(np.ones((2, 1)), np.ones((2, 1)), 50).tolist() == [50, 50]


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (np.array([0, 3]), "labels 'y' are int64[2], from 0 to 3"),
        (np.array([-1, 2]), "labels 'y' are int64[2], from -1 to 2"),
        (np.array([0, 1, 2]), "labels 'y' are int64[3]"),
        (np.zeros(2), "labels 'y' are float64[2]"),
        (np.array([[0, 1, 0], [np.nan, 1, 0]]), "labels 'y' are float64[2, 3], from 0 to 1"),
    ],
)
def test_labels_that_do_not_fit_say_what_they_are(y, says):
    with pytest.raises(DataError) as caught:
        evaluate_graph(classifier(1.0), {"x": np.eye(3, dtype=np.float32)[:2]}, y)
    assert caught.value.problem == says
    assert caught.value.expected == "2 class indices from 0 to 2"


def test_labels_may_be_columns_and_the_greatest_class():
    x = np.eye(3, dtype=np.float32)
    for y in (np.array([0, 1, 2]), np.array([[0], [1], [2]]), np.eye(3), np.eye(3, dtype=bool)):
        assert evaluate_graph(classifier(1.0), {"x": x}, y).correct == 3


def test_labels_are_of_each_sample_of_a_batch(x):
    """Whose model takes two at once: one for each, or rows of classes."""
    b = Builder((2, 3))
    graph = b.graph(b.op("neg", ("x",)))
    labels = x.argmin(axis=1)
    labels[::7] = (labels[::7] + 1) % 3
    for y in (labels, np.eye(3)[labels]):
        found = evaluate_graph(graph, {"x": x}, y)
        assert (found.samples, found.correct, found.top1) == (700, 600, 600 / 700)
    with pytest.raises(DataError) as caught:
        evaluate_graph(graph, {"x": x}, labels[1:])
    assert caught.value.expected == "700 class indices from 0 to 2"


def test_labels_are_of_each_place_of_an_answer(x):
    """A sample is correct where all of its places are; labels may stand in one row."""
    b = Builder((1, 2, 3))
    graph = b.graph(b.op("arg_max", ("x",), ArgAttrs(-1, DType.INT64)))
    images = x.reshape(350, 2, 3)
    labels = images.argmax(axis=2)
    labels[:70, 1] += 1
    labels[50:80, 0] += 1
    for y in (labels, labels.ravel()):
        found = evaluate_graph(graph, {"x": images}, y)
        assert (found.samples, found.correct, found.top1) == (350, 270, 600 / 700)
    with pytest.raises(DataError) as caught:
        evaluate_graph(graph, {"x": images}, labels[:, 0])
    assert caught.value.expected == "700 class indices"


def test_models_whose_answers_differ_in_shape_are_not_compared(x):
    wide = Answers(np.ones((700, 4), np.float32), np.ones((700, 4), np.float32), 1.0, 700)
    with pytest.raises(DataError) as caught:
        evaluate_graph(classifier(1.0), {"x": x}, against=wide)
    (pieces, width), (others, expected) = re.findall(
        r"\((\d+), (\d)\)", f"{caught.value.problem} {caught.value.expected}"
    )
    assert (pieces, width, expected) == (others, "3", "4")


def test_logits_are_the_output_where_no_softmax_is_last():
    graph = classifier(1.0, softmax=False)
    assert logits_name(graph) == graph.outputs[0]
    assert logits_name(small_cnn()) != small_cnn().outputs[0]
    found = answers_of(classifier(2.0), {"x": np.ones((2, 3), np.float32)})
    np.testing.assert_array_equal(found.logits, np.full((2, 3), 2, np.float32))
    np.testing.assert_allclose(found.outputs, 1 / 3, rtol=1e-6)
    assert (found.runs, found.are_places) == (2, False)
    part = found.part(1, 1)
    assert (len(part.outputs), len(part.logits), part.seconds) == (1, 1, found.seconds)


def test_a_model_is_made_ready_for_all_samples_before_the_clock_starts(x, monkeypatch):
    events, allocate = [], Model.allocate

    def noting(model, total):
        events.append(total)
        return allocate(model, total)

    def clock():
        events.append("clock")
        return float(len(events))

    monkeypatch.setattr(Model, "allocate", noting)
    monkeypatch.setattr(answering, "time", SimpleNamespace(perf_counter=clock))
    evaluate_graph(classifier(1.0), {"x": x})
    assert events[:2] == [700, "clock"]
    assert events.count(700) == 1


def test_a_model_with_state_goes_on_from_sample_to_sample(x):
    """It answers with the sum of all samples so far, less the one before."""
    b = Builder((1, 3), (1, 3), (1, 3))
    total, turned = b.op("add", ("x", "x1"), AddAttrs()), b.op("neg", ("x",))
    graph = b.graph(b.op("add", (total, "x2"), AddAttrs()), total, turned)
    graph = replace(graph, states=(("x1", total), ("x2", turned)))
    wanted = np.cumsum(x, axis=0) - np.concatenate([0 * x[:1], x[:-1]])
    found = answers_of(graph, {"x": x})
    np.testing.assert_allclose(found.outputs, wanted, rtol=1e-3, atol=1e-3)
    assert evaluate_graph(graph, {"x": x}, wanted.argmax(axis=1)).correct >= 699
