"""Which tensors are masks: what they hold far below all scores does not matter."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.quantize.scores import Depth, lift, masks

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
    alone = lift(np.full((2, 3), hidden, np.float32), Depth(10.0, answers=False))
    np.testing.assert_array_equal(alone, np.full((2, 3), -10, np.float32))
