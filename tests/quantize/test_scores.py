"""Which tensors are masks: what they hold far below all scores does not matter."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.metrics import evaluate_graph
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.quantize import quantize_graph
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.scores import Depth, lift, masks, narrowed

WAYS = {
    "as it is": (lambda b, m: m, True),
    "moved": (lambda b, m: b.op("transpose", (m,), TransposeAttrs((1, 0))), True),
    "computed": (lambda b, m: b.op("exp", (m,), NoAttrs()), False),
    "the greater of two": (lambda b, m: b.op("maximum", (m, "x"), NoAttrs()), False),
    "joined": (
        lambda b, m: b.op("concatenation", (m, "x"), ConcatenationAttrs(axis=0)),
        False,
    ),
}


@pytest.mark.parametrize(("way", "is_mask"), WAYS.values(), ids=WAYS)
def test_a_mask_is_added_to_scores_as_it_is_or_moved(way, is_mask):
    b = Builder((4, 4), (4, 4))
    made = b.op("neg", ("x1",), NoAttrs())
    mask = way(b, made)
    rows = b.values[mask].shape[0]
    scores = b.op("concatenation", ("x", "x"), ConcatenationAttrs(axis=0)) if rows > 4 else "x"
    graph = b.graph(b.op("softmax", (b.op("add", (scores, mask), AddAttrs()),), SoftmaxAttrs()))
    assert (made in masks(graph)) is is_mask


def masked(op, attrs=None, *, swapped=False, moved=False, told=False):
    """Scores that a mask is combined with; names of mask, of what it meets, and of the scores."""
    b = Builder((4, 4), (4, 4))
    mask = b.op("neg", ("x1",), NoAttrs())
    read = b.op("transpose", (mask,), TransposeAttrs((1, 0))) if moved else mask
    scores = b.op(op, ("x", read) if swapped else (read, "x"), attrs or NoAttrs())
    shares = b.op("softmax", (scores,), SoftmaxAttrs())
    return b.graph(shares, *([scores] if told else [])), mask, scores


def computed(op, attrs=None):
    """Scores that an op makes of one tensor; names as above."""
    b = Builder((1, 4, 4, 4))
    made = b.op("neg", ("x",), NoAttrs())
    scores = b.op(op, (made,), attrs or NoAttrs())
    return b.graph(b.op("softmax", (scores,), SoftmaxAttrs())), made, scores


OWN = Range(-9000.0, 0.0)
LEAST = {
    "beside scores around 0": (masked("add", AddAttrs()), (-7, 5), -25),
    "behind them": (masked("add", AddAttrs(), swapped=True), (-7, 5), -25),
    "moved": (masked("add", AddAttrs(), moved=True), (-7, 5), -25),
    "beside scores below 0": (masked("add", AddAttrs()), (-7, -3), -17),
    "beside scores above 0": (masked("add", AddAttrs()), (2, 5), -25),
    "beside scores without an end": (masked("add", AddAttrs()), (-7, np.inf), -20),
    "beside scores further away": (masked("add", AddAttrs()), (-7, 9500), -9000),
    "above all": (masked("add", AddAttrs()), (-70, -60), 40),
    "times what is not below 0": (masked("mul", MulAttrs()), (0, 4), -1280),
    "times what may be below 0": (masked("mul", MulAttrs()), (-1, 4), -9000),
    "times zeros": (masked("mul", MulAttrs()), (0, 0), -9000),
    "taken from others": (masked("sub", AddAttrs(), swapped=True), (-7, 5), -9000),
    "others taken from it": (masked("sub", AddAttrs()), (-7, 5), -9000),
    "the greater of two": (masked("maximum"), (-7, 5), -9000),
    "negative": (computed("neg"), (0, 0), -9000),
    "sizes": (computed("abs"), (0, 0), -9000),
    "means": (computed("mean", MeanAttrs((1,), keep_dims=True)), (0, 0), -9000),
    "means in a window": (computed("average_pool2d", Pool2dAttrs((2, 2))), (0, 0), -9000),
    "images of another size": (computed("resize_bilinear", ResizeAttrs((3, 3))), (0, 0), -9000),
    "a part": (computed("slice", SliceAttrs((0,) * 4, (1, 2, 4, 4), (1,) * 4)), (0, 0), -20),
    "scores that are told": (masked("add", AddAttrs(), told=True), (-7, 5), -9000),
}
"""Graph, mask and scores; range of what the mask meets; the least of the mask that matters.

Scores lie from -20 on, the mask from -9000 on.
"""


@pytest.mark.parametrize("name", LEAST)
def test_a_mask_needs_no_steps_for_what_lies_below_all_scores(name):
    (graph, mask, scores), beside, least = LEAST[name]
    ranges = {"x": Range(*beside), scores: Range(-20.0, 30.0)}
    assert narrowed(graph, mask, OWN, ranges.get) == Range(least, max(least, 0.0))


@pytest.mark.parametrize("lows", [(-20, -50), (-50, -20)])
def test_a_mask_of_several_scores_reaches_to_the_lowest_of_them(lows):
    b = Builder((4, 4), (4, 4))
    mask = b.op("neg", ("x1",), NoAttrs())
    scores = [b.op("add", (mask, "x"), AddAttrs()) for _ in lows]
    graph = b.graph(*(b.op("softmax", (s,), SoftmaxAttrs()) for s in scores))
    ranges = {s: Range(low, 30.0) for s, low in zip(scores, lows, strict=True)}
    assert narrowed(graph, mask, OWN, (ranges | {"x": Range(-7, 5)}).get) == Range(-55.0, 0.0)


def test_pixels_whose_means_are_scores_keep_their_range():
    """Many lie below all means, and still count."""
    rng, b = np.random.default_rng(0), Builder((1, 6, 6, 8))
    w = b.constant((rng.normal(size=(5, 1, 1, 8)) * 3).astype(np.float32))
    pixels = b.op("conv2d", ("x", w), Conv2dAttrs())
    means = b.op("mean", (pixels,), MeanAttrs((1, 2)))
    graph = b.graph(b.op("softmax", (means,), SoftmaxAttrs()))
    x = rng.normal(size=(64, 6, 6, 8)).astype(np.float32)
    int8 = quantize_graph(graph, x[:48])
    assert evaluate_graph(int8, {"x": x[48:]}, against=graph).sqnr_db > 30


@pytest.mark.parametrize("hidden", [-np.inf, -1e9, -4001.0])
def test_scores_are_raised_to_the_depth_that_matters(hidden):
    """A row that is hidden entirely lies as deep as the lowest of the others."""
    rows = [[0, -3, -10, -11], [50, 45, 39, hidden], [7, 6, -3, -4], [hidden] * 4]
    wanted = [[0, -3, -10, -10], [50, 45, 40, 40], [7, 6, -3, -3], [-10] * 4]
    x = np.array(rows, np.float32)
    np.testing.assert_array_equal(lift(x, Depth(10.0, answers=False)), np.float32(wanted))
    np.testing.assert_array_equal(x, np.float32(rows))
    # What a model answers is told to the end, but for what a mask has hidden.
    wanted = [[0, -3, -10, -11], [50, 45, 39, 40], [7, 6, -3, -4], [-10] * 4]
    np.testing.assert_array_equal(lift(x, Depth(10.0, answers=True)), np.float32(wanted))
    shallow = np.float32([[0, -1], [-4000, -4000]])  # a mask's least, and no more
    np.testing.assert_array_equal(lift(shallow, Depth(10.0, answers=False))[1], [-10, -10])
    alone = lift(np.full((2, 3), hidden, np.float32), Depth(10.0, answers=False))
    np.testing.assert_array_equal(alone, np.full((2, 3), -10, np.float32))
