"""What is counted of a tensor's values, beside counts by hand."""

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.quantised import constant, f32, s8
from tinyrt.ir import DType
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.report.facts import Histogram
from tinyrt.report.histograms import Counts, activation_histograms

STEPS = np.array([-128, -127, -127, 0, 127], np.int8)


@pytest.mark.parametrize(
    ("value", "at_low"), [(s8(5), 1), (constant(DType.INT8, 5), 3)], ids=["activation", "weights"]
)
def test_the_ends_are_those_of_activations_and_of_weights(value, at_low):
    """Weights are symmetric: their least integer is -127."""
    counts = Counts(value, 3)
    counts.add(STEPS)
    found = counts.histogram()
    assert (found.op, sum(found.counts)) == (3, 5)
    assert (found.at_low, found.at_high) == (at_low, 1)


def test_pieces_are_added_up():
    counts = Counts(s8(5), 3)
    for piece in (STEPS, np.array([[-128, 127], [-128, 126]], np.int8), np.array([5], np.int8)):
        counts.add(piece)
    bins = [0] * 32
    bins[0], bins[16], bins[31] = 5, 2, 3
    assert counts.histogram() == Histogram("", 3, -128.5, 127.5, tuple(bins), 3, 2)


def test_what_is_no_number_is_left_out():
    counts = Counts(f32(4), 0)
    counts.add(np.array([np.inf, 1, np.nan, 3], np.float32))
    counts.add(np.array([-np.inf, -5, 9], np.float32))
    found = counts.histogram()
    assert (found.low, found.high) == (1, 3)
    assert (sum(found.counts), found.counts[0], found.counts[-1]) == (4, 2, 2)


def test_integers_of_four_bits_have_a_bin_each():
    counts = Counts(constant(DType.INT4, 5), 0)
    counts.add(np.array([-8, -7, 0, 7, 7], np.int8))
    found = counts.histogram()
    assert (found.low, found.high, found.at_low, found.at_high) == (-8.5, 7.5, 2, 2)
    assert found.counts == (1, 1, *[0] * 6, 1, *[0] * 6, 2)
    assert found.clipped == 4 / 5


def test_a_first_piece_without_numbers():
    counts = Counts(f32(4), 0)
    counts.add(np.array([np.inf, np.nan], np.float32))
    found = counts.histogram()
    assert (found.low, found.high, sum(found.counts), found.clipped) == (0, 1, 0, 0)


def test_runs_of_one_sample_each_are_added_up():
    """The rows of a sample are mixed: it is not one of a batch."""
    b = Builder((2, 2))
    graph = b.graph(b.op("tanh", (b.op("reshape", ("x",), ReshapeAttrs((1, 4))),)))
    first, second = [[-1, 0], [0.5, 1]], [[2, 3], [0, -4]]
    *_, found = activation_histograms(graph, np.array([*first, *second], np.float32))
    np.testing.assert_allclose([found.low, found.high], np.tanh([-1, 1]), rtol=1e-6)
    assert (sum(found.counts), found.counts[0], found.counts[-1]) == (8, 2, 3)
    long = np.zeros((80, 2), np.float32)
    assert [sum(each.counts) for each in activation_histograms(graph, long)] == [32 * 4] * 2
