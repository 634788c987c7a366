"""Accuracy, agreement and SQNR, on cases worked out by hand."""

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tinyrt.errors import DataError
from tinyrt.metrics import evaluate_graph, logits_name, sqnr_db
from tinyrt.ops.mul import MulAttrs
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


def test_logits_stand_before_a_final_softmax():
    assert logits_name(small_cnn()) == "fully_connected_6"
