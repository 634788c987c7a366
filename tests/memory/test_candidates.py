"""What is live outside of a segment, at its ends, and for ops that run on whole tensors."""

from dataclasses import replace

import pytest

from tests.c.test_rows import NETS
from tests.graphs import Builder
from tests.memory.nets import random_net
from tests.memory.targets import SCALAR
from tests.sampling import sampled
from tinyrt.memory import plan_by_rows
from tinyrt.memory.kernels import NoKernels
from tinyrt.memory.plan import MemoryOptions
from tinyrt.memory.regions import NO_LIMIT
from tinyrt.memory.rows import candidates
from tinyrt.memory.rows.candidates import Model
from tinyrt.memory.rows.choose import _smallest
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs


def wide_and_narrow():
    """Tensors of 4, 400, 4, 200, 4 and 80 bytes, one behind the other."""
    b = Builder((1, 1))
    y = "x"
    for width in (100, 50, 20):
        y = b.op("concatenation", (y,) * width, ConcatenationAttrs(1))
        y = b.op("mean", (y,), MeanAttrs((1,), keep_dims=True)) if width > 20 else y
    return Model(b.graph(y), SCALAR, MemoryOptions())


@pytest.mark.parametrize(
    ("first", "stop", "live"),
    [(0, 5, 80), (0, 2, 204), (0, 4, 84), (0, 1, 404), (1, 5, 404), (2, 4, 404), (3, 5, 404)],
)
def test_what_is_live_outside_of_a_segment(first, stop, live):
    assert wide_and_narrow().live_outside(first, stop) == live


def test_readers_of_a_pushed_input_cannot_run_alone():
    model = wide_and_narrow()
    assert model.live_alone(None) == [404, 404, 204, 204, 84]
    assert model.live_alone("x") == [NO_LIMIT, 404, 204, 204, 84]


def test_an_op_reads_a_pushed_input_wherever_it_names_it():
    b = Builder((1, 4), (1, 4))
    model = Model(b.graph(b.op("add", b.inputs, AddAttrs())), SCALAR, MemoryOptions())
    assert [model.live_alone(name) for name in b.inputs] == [[NO_LIMIT]] * 2


class Fewer(NoKernels):
    """Kernels that take more scratch memory for fewer rows."""

    def scratch_bytes(self, node):
        return 1000 // node.output.shape[1]


def test_scratch_memory_is_of_the_number_of_rows_that_takes_the_most():
    model = Model(random_net(13), Fewer(), MemoryOptions())
    segment = model.build(0, 2, None, times=4)
    assert segment.counts() == [[1, 3, 4], [2]]
    assert model.row_scratch([segment]) == {0: 1000, 1: 500}


def test_what_is_live_between_ops():
    model = wide_and_narrow()
    assert model.live_across(None) == [4, 400, 4, 200, 4, 80]
    assert model.live_across("x") == [0, 400, 4, 200, 4, 80]


@pytest.mark.parametrize(("net", "seed"), sampled([NETS[1], *NETS[3:]], NETS))
def test_at_the_fullest_moment_the_op_whose_working_memory_lives_runs(net, seed):
    moment = plan_by_rows(net(seed), SCALAR, enough=1).fullest()
    working = {name for name, _ in moment.sizes if name.startswith("scratch#")}
    assert working == {f"scratch#{moment.node}"}


def test_while_rows_are_copied_in_the_first_op_of_the_segment_is_named():
    plan = plan_by_rows(random_net(38), SCALAR, enough=1)
    (segment,) = plan.segments
    moment = plan.fullest()
    assert segment.stages[0].node is None
    assert moment.node == segment.first
    assert not any(name.startswith("scratch#") for name, _ in moment.sizes)


def test_what_reads_or_writes_a_state_does_not_run_by_rows():
    """Rows would read what the ones before them have overwritten."""
    graph = random_net(8)
    (x,), (y, *_) = graph.inputs, graph.outputs
    before = Model(graph, SCALAR, MemoryOptions()).ops
    graph = replace(graph, states=((x, y),))
    after = Model(graph, SCALAR, MemoryOptions()).ops
    touched = [x in node.inputs or y in node.outputs for node in graph.nodes]
    assert any(op is not None and hit for op, hit in zip(before, touched, strict=True))
    assert [op is None for op in after] == [
        hit or op is None for op, hit in zip(before, touched, strict=True)
    ]


class Placed:
    """A candidate that needs so much once it is placed."""

    def __init__(self, bound, size, placed):
        self.bound, self.instructions, self._size, self._placed = bound, 1, size, placed

    def place(self):
        self.size = self._size
        self._placed.append(self.size)


@pytest.mark.parametrize(("enough", "placed"), [(0, [90, 70]), (89, [90, 70]), (90, [90])])
def test_no_more_candidates_are_placed_than_it_takes_to_be_within_enough_bytes(enough, placed):
    tried = []
    candidates = [Placed(60, 70, tried), Placed(50, 90, tried), Placed(80, 85, tried)]
    best = _smallest(candidates, most=100, enough=enough)
    assert tried == placed
    assert best.size == placed[-1]


def test_plans_are_the_same_whatever_is_kept_of_candidates(monkeypatch):
    """What is not kept is found again."""
    plans = []
    for most in (candidates.KEPT_CELLS, 0):
        monkeypatch.setattr(candidates, "KEPT_CELLS", most)
        plan = plan_by_rows(random_net(12), SCALAR, costly=True)
        plans.append((plan.offsets, plan.arena_bytes, [s.steps for s in plan.segments]))
    assert plans[0] == plans[1]
    assert len(plans[0][2]) == 2
