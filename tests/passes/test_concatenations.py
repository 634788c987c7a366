"""What cuts a concatenation reads its parts, and concatenations of concatenations are one."""

from dataclasses import replace

import numpy as np
import pytest

from tests.passes.example_parts import joined
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import ops
from tests.passes.test_every_pass import RULES, applied
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ir import QParams
from tinyrt.ops.concatenation import MAX_INPUTS
from tinyrt.ops.slice import SliceAttrs

SLICE, MERGE = RULES["slice_concatenation"], RULES["merge_concatenations"]
SHAPES = (2, 2, 3), (2, 1, 3), (2, 4, 3)
"""Parts of 2, 1 and 4 rows."""


def sliced(attrs: SliceAttrs, axis: int = 1):
    """A slice of the three parts."""
    net = Net(*SHAPES)
    joins = joined(net, "x", "x1", "x2", axis=axis)
    return net.graph(net.op("slice", (joins,), attrs))


def rows(begin: int, count: int, step: int = 1, **others) -> SliceAttrs:
    """Some rows of two samples."""
    return SliceAttrs((0, begin, 0), (2, count, 3), (1, step, 1), **others)


@pytest.mark.parametrize("axis", [1, -2])
@pytest.mark.parametrize(
    ("attrs", "left", "reads"),
    [
        (rows(0, 3), ["concatenation"], ("x", "x1")),
        (rows(2, 5), ["concatenation"], ("x1", "x2")),
        (rows(1, 1), ["slice"], ("x",)),
        (rows(4, 2), ["slice"], ("x2",)),
        (rows(3, 2, 2), ["slice"], ("x2",)),
        (rows(6, 4, -1), ["slice"], ("x2",)),
        (rows(2, 1, dropped=(1,)), ["slice"], ("x1",)),
        (SliceAttrs((1, 3, 1), (1, 4, 2), (1, 1, 1)), ["slice"], ("x2",)),
    ],
    ids=str,
)
def test_a_slice_reads_the_parts_that_it_takes(attrs, left, reads, axis):
    after, _ = applied(sliced(attrs, axis), SLICE, REMOVE_DEAD)
    assert ops(after) == left
    assert after.nodes[0].inputs == reads


def test_a_whole_part_needs_no_op():
    net = Net(*SHAPES)
    joins = joined(net, "x", net.op("tanh", ("x1",)), "x2", axis=1)
    after, _ = applied(net.graph(net.op("slice", (joins,), rows(2, 1))), SLICE, REMOVE_DEAD)
    assert ops(after) == ["tanh"]


@pytest.mark.parametrize(
    "attrs",
    [
        rows(1, 2),
        rows(0, 4),
        rows(0, 4, 2),
        rows(2, 3, -1),
        SliceAttrs((0, 0, 1), (2, 3, 2), (1, 1, 1)),
        SliceAttrs((1, 0, 0), (1, 3, 3), (1, 1, 1), (0,)),
    ],
    ids=str,
)
def test_a_slice_across_parts_stays(attrs):
    graph = sliced(attrs)
    after, log = applied(graph, SLICE)
    assert after.nodes == graph.nodes
    assert "cuts across" in log.refused[SLICE.name, graph.nodes[-1].name]


def test_random_slices_keep_their_results():
    rng = np.random.default_rng(5)
    for _ in range(200):
        step = int(rng.choice([-2, -1, 1, 2]))
        count = int(rng.integers(1, 5))
        span = (count - 1) * abs(step)
        if span > 6:
            continue
        low = int(rng.integers(0, 7 - span))
        applied(sliced(rows(low if step > 0 else low + span, count, step)), SLICE, REMOVE_DEAD)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_inner_parts_stand_where_the_inner_one_stood(place):
    net = Net(*SHAPES)
    parts = ["x2", "x2"]
    parts.insert(place, joined(net, "x", "x1", axis=-2))
    after, _ = applied(net.graph(joined(net, *parts, axis=1)), MERGE)
    wanted = ["x2", "x2"]
    wanted[place:place] = ["x", "x1"]
    assert ops(after) == ["concatenation"]
    assert after.nodes[0].inputs == tuple(wanted)


def test_parts_along_another_dimension_stay():
    net = Net((2, 2, 3), (2, 2, 3))
    inner = joined(net, "x", "x1", axis=2)
    graph = net.graph(joined(net, inner, inner, axis=1))
    assert applied(graph, MERGE)[0].nodes == graph.nodes


@pytest.mark.parametrize(("count", "are_merged"), [(MAX_INPUTS - 1, True), (MAX_INPUTS, False)])
def test_no_op_gets_more_parts_than_it_may_have(count, are_merged):
    net = Net((1, 1))
    inner = joined(net, "x", "x", axis=1)
    graph = net.graph(joined(net, inner, *["x"] * (count - 1), axis=1))
    after, log = applied(graph, MERGE)
    assert (len(after.nodes) == 1) is are_merged
    assert are_merged or "1024" in log.refused[MERGE.name, graph.nodes[-1].name]


def on_grids(graph, **scales):
    """The graph, some of whose values have grids of these scales."""
    values = {n: replace(graph.value(n), q=QParams((s,), 0)) for n, s in scales.items()}
    return replace(graph, values=graph.values | values)


def test_parts_on_other_grids_stay():
    graph = sliced(rows(0, 2))
    for found in (on_grids(graph, x=0.1), on_grids(sliced(rows(0, 3)), x1=0.1)):
        refusal = SLICE.apply(found, found.nodes[-1])
        assert refusal.reason.endswith("other grids together")
    net = Net(*SHAPES)
    inner = joined(net, "x", "x1", axis=1)
    outer = net.graph(joined(net, inner, "x2", axis=1))
    assert MERGE.apply(on_grids(outer, **{inner: 0.1}), outer.nodes[-1]) is None
