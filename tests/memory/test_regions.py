"""Several memory regions: which buffers go to the first ones, and what an overflow says."""

from types import SimpleNamespace

import pytest

from tests.export.models import dense, views
from tests.graphs import Builder
from tests.memory.targets import SCALAR
from tests.memory.two_regions import FAST, MOST_USED, SLOW, two
from tinyrt.errors import BudgetError
from tinyrt.ir import DType, Graph, Value
from tinyrt.memory.arena import aligned_for
from tinyrt.memory.lifetimes import Buffer, buffers, scratch_name
from tinyrt.memory.placing.problem import Problem
from tinyrt.memory.plan import ArenaPlan, MemoryOptions, Moment, require_budget
from tinyrt.memory.regions import Region, _orders, assign, traffic_of
from tinyrt.ops.add import AddAttrs


def problem_of(*sizes, lives=None, ties=None, alignment=4):
    """Buffers of these sizes, live at the same time unless said otherwise."""
    lives = lives or [(0, 9)] * len(sizes)
    made = [
        Buffer((f"b{i}",), nbytes, *life)
        for i, (nbytes, life) in enumerate(zip(sizes, lives, strict=True))
    ]
    return Problem(made, {}, ties or {}, alignment)


@pytest.mark.parametrize(("sizes", "traffic", "fast", "region"), MOST_USED)
def test_the_first_region_has_what_is_used_most_for_its_size(sizes, traffic, fast, region):
    found = assign(problem_of(*sizes), two(fast), traffic)
    assert found.region == region
    assert [p.nbytes for p in found.placements] == [
        sum(n for n, r in zip(sizes, region, strict=True) if r == which) for which in (FAST, SLOW)
    ]


def test_a_region_without_limit_takes_all():
    found = assign(problem_of(100, 40), (Region("a"), Region("b", 10)), (1, 1))
    assert found.region == [0, 0]
    assert [p.nbytes for p in found.placements] == [140, 0]


def test_buffers_that_share_bytes_go_together():
    problem = problem_of(100, 40, 60, ties={1: (0, 20)})
    found = assign(problem, two(100), (10, 9, 50))
    assert found.region == [SLOW, SLOW, FAST]
    assert found.offsets[1] == found.offsets[0] + 20
    assert found.offsets[2] == 0


def test_where_the_most_used_leave_too_little_the_largest_go_first():
    found = assign(problem_of(60, 100), two(100, 60), (900, 1))
    assert found.region == [SLOW, FAST]


def test_and_then_those_that_are_kept_longest():
    found = assign(
        problem_of(60, 52, 52, lives=[(8, 9), (0, 9), (0, 9)]), two(104, 92), (900, 1, 1)
    )
    assert found.region == [SLOW, FAST, FAST]


@pytest.mark.parametrize(
    ("sizes", "lives", "order"),
    [
        ((100, 30), [(0, 0), (0, 2)], [0, 1]),
        ((80, 30), [(0, 0), (0, 2)], [1, 0]),
        ((60, 30), [(0, 0), (0, 1)], [0, 1]),
        ((40, 52, 40), [(-1, 1), (2, 3), (0, 1)], [0, 1, 2]),
    ],
)
def test_what_is_kept_for_one_step_is_kept_for_that_step(sizes, lives, order):
    """Bytes times the steps, the first and the last among them."""
    problem = problem_of(*sizes, lives=lives)
    *_, by_span = _orders(problem, [1.0] * len(sizes))
    assert by_span == order


@pytest.mark.parametrize("alignment", [4, 32])
def test_offsets_are_aligned_in_every_region(alignment):
    found = assign(problem_of(33, 33, 33, alignment=alignment), two(100), (1, 1, 1))
    assert all(offset % alignment == 0 for offset in found.offsets)


def test_an_overflow_names_what_is_kept_at_the_fullest_step():
    lives = [(-1, 1), (1, 2), (2, 3), (3, 3)]
    problem = problem_of(40, 60, 1000, 2000, lives=lives)
    with pytest.raises(BudgetError) as caught:
        assign(problem, two(100, 1500), (9, 9, 2, 1))
    text = str(caught.value)
    assert "region 'slow' would need 3,000 bytes" in text
    assert "at step 3, in bytes: 'b3' 2,000, 'b2' 1,000" in text
    assert "at most 1,500" in text
    assert "--region name=size" in text


def test_inputs_are_kept_before_the_first_step():
    with pytest.raises(BudgetError, match="kept in it at step 0, in bytes: 'b0' 40"):
        assign(problem_of(40, lives=[(-1, -1)]), (Region("only", 36),), (1,))


def test_the_first_order_s_overflow_is_told():
    with pytest.raises(BudgetError, match="region 'slow' would need 100 bytes"):
        assign(problem_of(60, 100), two(100, 40), (900, 1))


# Traffic


def _sum_of_two() -> Graph:
    b = Builder((1, 3), (1, 3))
    return b.graph(b.op("add", ("x", "x1"), AddAttrs()))


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (dense(), {"x": 4 + 4, "y": 2}),
        (dense(size=12), {"x": 12 + 12, "y": 2}),
        (_sum_of_two(), {"x": 12 + 12, "x1": 12 + 12, "add_0": 12}),
        (views(), {"x": 12 + 12 + 12, "relu": 12 + 12 + 12, "y": 12, "copy": 12}),
    ],
)
def test_traffic_is_what_kernels_read_and_write(graph, expected):
    made = buffers(graph, SCALAR)
    found = dict(zip((b.names[0] for b in made), traffic_of(graph, made), strict=True))
    assert {name: found[name] for name in graph.values if name in found} == expected


def test_scratch_memory_is_used_as_the_input_is():
    graph = dense()
    (traffic,) = traffic_of(graph, [Buffer((scratch_name(0),), 999, 0, 0)])
    assert traffic == 4
    assert traffic_of(graph, [Buffer(("ring",), 999, 0, 0)]) == [999]


# The arena's budget


def graph_with(dtype, **values):
    return Graph("net", (), (), {n: Value(n, dtype, s) for n, s in values.items()}, ())


@pytest.mark.parametrize(
    ("dtype", "asked", "alignment"),
    [
        (DType.INT8, 4, 4),
        (DType.INT8, 64, 64),
        (DType.FLOAT32, 4, 4),
        (DType.INT64, 4, 8),
        (DType.INT64, 64, 64),
    ],
)
def test_offsets_are_multiples_of_the_largest_element(dtype, asked, alignment):
    options = MemoryOptions(alignment=asked)
    assert aligned_for(graph_with(dtype, x=(2,)), options).alignment == alignment


def test_of_the_largest_tensors_ten_are_named():
    sizes = {f"t{i:02}": 100 + i for i in range(12)} | {"done": 0, "twin": 111}
    moment = Moment.of(0, sizes)
    assert [name for name, _ in moment.sizes[:3]] == ["t11", "twin", "t10"]
    assert "done" not in dict(moment.sizes)
    plan = ArenaPlan({}, 1500, 0, (), peak=moment)
    with pytest.raises(BudgetError) as caught:
        require_budget(graph_with(DType.INT8), plan, 1400)
    text = str(caught.value)
    assert "needs 1,500 bytes, 100 too many" in text
    assert text.count("'t") == 10
    assert "'t03' 103, and others 303" in text
    assert "'t02'" not in text


@pytest.mark.parametrize("spare", [0, 1])
def test_a_plan_that_just_fits_is_within_its_budget(spare):
    require_budget(graph_with(DType.INT8), ArenaPlan({}, 1500, 0, ()), 1500 + spare)


@pytest.mark.parametrize(
    ("fed", "placed", "segments", "ways"),
    [
        ("x", "x", False, "--by-rows --input-rows --input-outside"),
        ("x", "x", True, "--input-rows --input-outside"),
        ("x", "", False, "--by-rows"),
        ("x", "", True, ""),
        ("xz", "xz", False, "--by-rows --input-outside"),
        ("xz", "z", True, "--input-outside"),
    ],
)
def test_only_ways_that_are_open_are_offered(fed, placed, segments, ways):
    graph = Graph("net", tuple(fed), (), {n: Value(n, DType.INT8, (2,)) for n in fed}, ())
    segment = SimpleNamespace(first=0, stop=1)
    offsets = dict.fromkeys(placed, 0)
    plan = ArenaPlan(offsets, 9, 0, (), segments=(segment,) * segments, peak=Moment.of(0, {}))
    with pytest.raises(BudgetError) as caught:
        require_budget(graph, plan, 8)
    hint = caught.value.hint
    assert [w.strip("(),") for w in hint.split() if w.startswith("(--")] == ways.split()
    assert ("split it from the branch" in hint) is (not ways)
