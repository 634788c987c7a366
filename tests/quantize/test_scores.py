"""Which tensors are masks: what they hold far below all scores does not matter."""

import pytest

from tests.graphs import Builder
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.quantize.scores import masks

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
