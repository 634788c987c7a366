"""What a caller asks of a plan: few enough bytes, any cost, several memories."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.memory.nets import RandomNet, random_net, varied_net
from tests.memory.targets import SCALAR
from tests.memory.test_segments import feeds_of, run_in, same
from tests.memory.test_ties import split_and_joined
from tinyrt.errors import BudgetError, UnsupportedError
from tinyrt.memory import plan_by_rows, plan_memory, plan_pushed
from tinyrt.memory.plan import ArenaPlan, MemoryOptions, Moment, require_budget
from tinyrt.memory.regions import Region
from tinyrt.memory.rows.build import build, row_ops, sums_name
from tinyrt.memory.rows.candidates import COUNTER_BYTES, PROGRESS_BYTES, QUICK, state_bytes
from tinyrt.memory.rows.choose import choose_segments
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs

GRAPH = random_net(0)


def memories(*sizes):
    """Regions of these sizes."""
    return MemoryOptions(tuple(Region(f"r{i}", size) for i, size in enumerate(sizes)))


BY_ROWS = [
    ({}, 516, []),
    ({"enough": 516}, 516, []),
    ({"enough": 515}, 456, [(1, 3)]),
    ({"enough": 420}, 408, [(1, 3)]),
    ({"costly": True}, 384, [(1, 3)]),
    ({"options": memories(400)}, 384, [(1, 3)]),
    ({"options": memories(480), "enough": 390}, 384, [(1, 3)]),
    ({"options": memories(64, None)}, 532, []),
    ({"options": memories(64, 400)}, 396, [(1, 3)]),
    ({"options": memories(208, 200)}, 384, [(1, 3)]),
]
"""Options, the arena's bytes, and the segments."""

PUSHED = [
    ({}, 532, [(0, 1)]),
    ({"enough": 532}, 532, [(0, 1)]),
    ({"enough": 531}, 520, [(0, 3)]),
    ({"enough": 480}, 472, [(0, 3)]),
    ({"enough": 384}, 400, [(0, 1), (1, 3)]),
    ({"costly": True}, 400, [(0, 1), (1, 3)]),
    ({"options": memories(400)}, 400, [(0, 1), (1, 3)]),
    ({"options": memories(480), "enough": 390}, 400, [(0, 1), (1, 3)]),
    ({"options": memories(64, None)}, 532, [(0, 1)]),
    ({"options": memories(64, None), "costly": True}, 412, [(0, 1), (1, 3)]),
]


@pytest.mark.parametrize(
    ("plan", "asked", "nbytes", "segments"),
    [(plan_by_rows, *row) for row in BY_ROWS] + [(plan_pushed, *row) for row in PUSHED],
)
def test_rows_run_only_where_that_is_asked_for(plan, asked, nbytes, segments):
    """A cheap plan is taken if it is small enough, else the one with the least work that is."""
    found = plan(GRAPH, SCALAR, **asked)
    assert found.arena_bytes == nbytes
    assert [(s.first, s.stop) for s in found.segments] == segments
    given = asked.get("options", MemoryOptions()).regions
    assert [r.name for r in found.regions] == [r.name for r in given]
    assert all(r.nbytes <= (g.nbytes or nbytes) for r, g in zip(found.regions, given, strict=True))
    feeds = feeds_of(GRAPH, 1)
    assert same(run_in(GRAPH, found, feeds), evaluate(GRAPH, feeds))


def test_few_bytes_less_are_worth_rows_only_where_they_are_asked_for():
    graph = varied_net(0)
    for enough, nbytes, rows in ((0, 312, 0), (311, 308, 1), (308, 308, 1), (307, 312, 0)):
        found = plan_by_rows(graph, SCALAR, enough=enough, costly=True)
        assert (found.arena_bytes, len(found.segments)) == (nbytes, rows)


@pytest.mark.parametrize("plan", [plan_by_rows, plan_pushed])
def test_a_memory_that_no_plan_fits_is_refused(plan):
    least = plan(GRAPH, SCALAR, costly=True).arena_bytes
    assert plan(GRAPH, SCALAR, options=memories(least)).arena_bytes == least
    with pytest.raises(BudgetError, match=f"would need {least} bytes"):
        plan(GRAPH, SCALAR, options=memories(least - 1))


def test_rows_that_are_pushed_take_less_than_is_asked_for():
    for most, nbytes in ((533, 532), (532, 520), (424, None)):
        found = choose_segments(GRAPH, SCALAR, MemoryOptions(), most=most, pushed="x")
        assert (found and sum(found.sizes)) == nbytes


def two_peaks():
    """An op that cannot run row by row lies between two peaks of the same height."""
    net = RandomNet(3)
    net.values["x"] = replace(net.values["x"], shape=(1, 8, 8, 2))
    x = "x"
    for between in (True, False):
        x = net.op("conv2d", Conv2dAttrs(), x, *net.weights((16, 3, 3, 2), 0)).name
        x = net.op("max_pool2d", Pool2dAttrs((2, 2), stride=(2, 2)), x).name
        x = net.op("conv2d", Conv2dAttrs(), x, *net.weights((2, 1, 1, 16), 0)).name
        if between:
            x = net.op("resize_nearest_neighbor", ResizeAttrs((8, 8)), x).name
    return net.graph(x)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"most": 581, "costly": True}, (580, [(0, 3), (4, 7)])),
        ({"most": 580, "costly": True}, None),
        ({"most": 581}, None),
        ({"most": 581, "enough": 580}, (580, [(0, 3), (4, 7)])),
        ({"most": 2000, "enough": 1236, "costly": True}, (1236, [(1, 2)])),
        ({"most": 2000, "costly": True, "effort": QUICK}, (1236, [(1, 2)])),
        ({"most": 581, "costly": True, "effort": QUICK}, None),
    ],
)
def test_several_segments_are_tried_where_one_is_too_large(asked, expected):
    found = choose_segments(two_peaks(), SCALAR, MemoryOptions(), **asked)
    if found is not None:
        found = sum(found.sizes), [(s.first, s.stop) for s in found.segments]
    assert found == expected


@pytest.mark.parametrize("plan", [plan_memory, plan_by_rows])
@pytest.mark.parametrize(("graph", "fast"), [(GRAPH, 64), (split_and_joined(), 128)])
def test_what_lies_in_a_second_memory_lies_behind_the_first(plan, graph, fast):
    found = plan(graph, SCALAR, options=memories(fast, None))
    assert 0 < found.regions[0].nbytes <= fast
    assert {*found.region_of.values()} == {1}
    assert found.arena_bytes == sum(r.nbytes for r in found.regions)
    for name, at in found.offsets.items():
        second = found.region_of.get(name, 0)
        assert found.start_of(name) == at + second * found.regions[0].nbytes
    assert not found.optimal
    assert found.lower_bound <= plan_memory(graph, SCALAR).arena_bytes
    feeds = feeds_of(graph, 2)
    assert same(run_in(graph, found, feeds), evaluate(graph, feeds))


def test_an_op_outside_of_segments_is_not_said_to_run_in_one():
    nodes = [f"{n.op} '{n.name}'" for n in GRAPH.nodes]
    segment = SimpleNamespace(first=0, stop=1)
    for node, rows in ((0, ", row by row with #0 to #0"), (1, "")):
        plan = ArenaPlan({}, 9, 0, (), segments=(segment,), peak=Moment.of(node, {}))
        with pytest.raises(BudgetError) as caught:
            require_budget(GRAPH, plan, 8)
        assert caught.value.op == GRAPH.bind(node).describe() + rows
        assert nodes[node] in caught.value.op


def test_an_input_that_nothing_reads_cannot_come_by_rows():
    with pytest.raises(UnsupportedError) as caught:
        plan_pushed(RandomNet(0).graph("x"), SCALAR)
    assert caught.value.op is None
    assert caught.value.tensor == "'x' s8[1,14,6,2]"
    assert caught.value.hint == "leave out --input-rows"


def test_a_counter_is_kept_for_what_moves_from_row_to_row():
    """Not for factors that every row is multiplied with."""
    net = RandomNet(0)
    empty = net.graph("x")
    net.values["each"] = replace(net.values["x"], name="each", shape=(1, 1, 1, 2))
    net.op("mul", MulAttrs(), "x", "each")
    made = {"values": net.values, "nodes": tuple(net.nodes), "outputs": ("mul_0",)}
    graph = replace(empty, inputs=("x", "each"), **made)
    segment = build(graph, row_ops(graph), 0, 1, "x")
    assert [access.is_whole for access in segment.accesses()] == [False, False, True, True]
    assert state_bytes(segment) == PROGRESS_BYTES + COUNTER_BYTES


def test_rings_are_images_where_they_hold_rows_and_not_sums():
    net = RandomNet(0)
    y = net.op("tanh", NoAttrs(), "x").name
    graph = net.graph(net.op("mean", MeanAttrs((1, 2)), y).name)
    segment = build(graph, row_ops(graph), 0, 2)
    assert {*segment.rings} == {y, sums_name(1)}
    assert [ring.name for ring in segment.images] == [y]
