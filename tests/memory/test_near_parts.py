"""One part of a condition alone is not met: found by ``tools.differing``."""

from dataclasses import dataclass, replace
from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.memory.targets import SCALAR
from tinyrt.errors import VerifyError
from tinyrt.ir import DType, QParams, Value
from tinyrt.memory import check_plan, plan_memory
from tinyrt.memory.check.contents import Content, Run, joined
from tinyrt.memory.kernels import NoKernels
from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.placing import exact
from tinyrt.memory.placing.exact import _Search, search
from tinyrt.memory.placing.place import _give_back
from tinyrt.memory.placing.problem import Problem
from tinyrt.memory.placing.ties import slice_offset
from tinyrt.memory.plan import MemoryOptions
from tinyrt.memory.rows.build import MAX_BLOCK, _Builder, is_image
from tinyrt.memory.sweep import SweepStep
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs


def int8(graph):
    q = QParams((1 / 256,), -128)
    made = {n: v if v.is_constant else replace(v, dtype=DType.INT8, q=q)
            for n, v in graph.values.items()}  # fmt: skip
    return replace(graph, values=made)


def rows(b, x, first, count):
    width = b.values[x].shape[2]
    return b.op("slice", (x,), SliceAttrs((0, first, 0), (1, count, width), (1, 1, 1)))


@pytest.mark.parametrize(("alignment", "idle"), [(4, 3), (8, 3), (16, 0)])
def test_parts_that_would_lie_between_aligned_places_are_copied(alignment, idle):
    """The second half lies 72 bytes behind the first."""
    b = Builder((1, 18, 8))
    top, bottom = (rows(b, "x", first, 9) for first in (0, 9))
    parts = b.op("logistic", (top,)), b.op("relu", (bottom,))
    graph = int8(b.graph(b.op("relu", (b.op("concatenation", parts, ConcatenationAttrs(1)),))))
    plan = plan_memory(graph, SCALAR, options=MemoryOptions(alignment=alignment))
    assert len(plan.idle) == idle
    assert all(offset % alignment == 0 for offset in plan.offsets.values())


@pytest.mark.parametrize("is_constant", [True, False])
def test_parts_of_constants_lie_in_no_arena(is_constant):
    b = Builder((1, 4, 8))
    whole = b.constant(np.zeros((1, 4, 8), np.float32)) if is_constant else "x"
    part = rows(b, whole, 1, 2)
    graph = b.graph(b.op("relu", (part,)), b.op("abs", ("x",)))
    (node,) = [n for n in graph.bound() if n.op == "slice"]
    assert slice_offset(node) == (None if is_constant else 32)


GAPS = {
    "apart from all": ((20, 30), [(0, 10), (20, 30), (40, 50), (60, 99)]),
    "behind one": ((10, 30), [(0, 30), (40, 50), (60, 99)]),
    "before one": ((20, 40), [(0, 10), (20, 50), (60, 99)]),
    "between two": ((10, 40), [(0, 50), (60, 99)]),
    "before the last": ((50, 60), [(0, 10), (40, 99)]),
}


@pytest.mark.parametrize("name", GAPS)
def test_gaps_join_those_that_they_touch(name):
    span, wanted = GAPS[name]
    free = [(0, 10), (40, 50), (60, 99)]
    _give_back(free, span)
    assert free == wanted


def test_runs_join_where_they_touch_and_go_on():
    content = Content(7)
    near = Run(0, 4, content), Run(4, 8, content)
    assert list(joined(near)) == [Run(0, 8, content)]
    for other in (Run(5, 8, content), Run(4, 8, Content(8)), Run(4, 8, Content(7, 0))):
        assert list(joined((near[0], other))) == [near[0], other]


@dataclass(frozen=True)
class Reading(NoKernels):
    """A kernel that reads so many bytes of its input at once."""

    nbytes: int = 0

    def sweep(self, node):
        return (SweepStep(((0, self.nbytes),), (0, node.output.nbytes), reads_first=True),)


@pytest.mark.parametrize("op", ["relu", "reshape"])
@pytest.mark.parametrize(("nbytes", "taken"), [(32, True), (31, True), (33, False), (40, False)])
def test_a_kernel_may_not_read_beyond_its_input(op, nbytes, taken):
    """Nor where what it reads is what another op left where it was."""
    b = Builder((1, 4, 8))
    first = b.op("relu", ("x",))
    kept = first if op == "relu" else b.op("reshape", (first,), ReshapeAttrs((1, 32)))
    graph = int8(b.graph(b.op("relu", (kept,))))
    last = graph.outputs[0]
    # The output lies on its input, so that the kernel's order is looked at.
    offsets = {"x": 0, first: 64, kept: 64, last: 64}
    check = (graph, offsets, 128, Reading(nbytes=nbytes))
    if taken:
        check_plan(*check)
    else:
        with pytest.raises(VerifyError):
            check_plan(*check)


def crowd(seed, count=7):
    rng = np.random.default_rng(seed)
    firsts = rng.integers(0, 6, count)
    lives = [(int(a), int(rng.integers(a, 7))) for a in firsts]
    sizes = rng.integers(1, 60, count)
    return [Buffer((f"b{i}",), 16 * int(n), *lives[i]) for i, n in enumerate(sizes)]


@pytest.mark.parametrize("seed", range(6))
def test_a_search_from_any_placement_ends_with_a_whole_one(seed):
    """What it has found so far is not what it tries next."""
    found = crowd(seed)
    problem = Problem(found, {})
    sizes = [problem.align(b.nbytes) for b in found]
    start = {i: sum(sizes[:i]) for i in range(len(found))}
    at, proven = search(problem, start, problem.lower_bound() - 1)
    assert sorted(at) == list(range(len(found)))
    for (i, a), (j, b) in combinations(enumerate(found), 2):
        if a.alive_with(b):
            assert at[i] + a.nbytes <= at[j] or at[j] + b.nbytes <= at[i]
    best = min(_lowest(problem, order) for order in permutations(range(len(found))))
    assert proven
    assert problem.size(at) == best < problem.size(start)


@pytest.mark.parametrize(("most", "is_searched"), [(7, True), (6, False)])
def test_a_search_that_would_go_too_deep_leaves_what_was_placed(most, is_searched, monkeypatch):
    """It goes as deep as there are groups, and proves nothing that it did not look at."""
    monkeypatch.setattr(exact, "MAX_GROUPS", most)
    found = crowd(0)
    problem = Problem(found, {})
    start = {i: sum(b.nbytes for b in found[:i]) for i in range(len(found))}
    at, proven = search(problem, start, problem.lower_bound() - 1)
    assert proven is (problem.size(at) < problem.size(start)) is is_searched
    assert is_searched or at == start


def test_a_proof_does_without_groups_of_several_buffers():
    """A search with one of them proves nothing; what is left out can only need more."""
    found = [Buffer(("a",), 64, 0, 3), Buffer(("b",), 16, 0, 0)]
    found += [Buffer(("c",), 16, 1, 1), Buffer(("d",), 16, 2, 2)]
    problem = Problem(found, {}, {3: (2, 0)})
    assert [list(group.members) for group in problem.groups] == [[0], [1], [2, 3]]
    start = {0: 0, 1: 64, 2: 64}
    assert search(problem, start, problem.lower_bound() - 1) == (start, True)
    _, proven = search(problem, start | {1: 80}, problem.lower_bound() - 1)
    assert not proven


def test_what_was_placed_matters_while_it_reaches_into_what_is_left():
    """And while it lives at the same time as something that is left."""
    lives = {
        "below": (32, 0, 6),
        "up to the least": (16, 0, 6),
        "across it": (32, 0, 1),
        "from it on": (16, 2, 3),
        "above it": (16, 1, 2),
        "across it, at another time": (32, 5, 6),
        "left": (16, 0, 3),
        "left, too": (16, 3, 4),
    }
    found = [Buffer((name,), *parts) for name, parts in lives.items()]
    problem = Problem(found, {})
    run = _Search(problem, {i: 1000 * i for i in range(len(found))}, 0, 1)
    at = {0: 0, 1: 32, 2: 32, 3: 48, 4: 64, 5: 32}
    state = run._state(at, {6: 48, 7: 64}, 48)
    assert state == (48, frozenset({6, 7}), frozenset({(2, 32), (3, 48), (4, 64)}))


def _lowest(problem, order):
    at = {}
    for group in order:
        at[group] = problem.lowest(group, at)
    return problem.size(at)


def test_a_model_whose_output_is_its_input_is_planned():
    b = Builder((1, 4))
    graph = b.graph("x", b.op("relu", ("x",)))
    plan = plan_memory(int8(graph), SCALAR)
    assert plan.offsets["x"] != plan.offsets[graph.outputs[1]]


@pytest.mark.parametrize(("outputs", "idle"), [((), 3), (("part",), 2), (("joined",), 2)])
def test_what_is_an_output_has_a_place_of_its_own(outputs, idle):
    """Parts and wholes that the model answers with may lie outside of the arena."""
    b = Builder((1, 18, 8))
    whole = b.op("relu", ("x",))
    top, bottom = (rows(b, whole, first, 9) for first in (0, 9))
    parts = b.op("logistic", (top,)), b.op("logistic", (bottom,))
    joined = b.op("concatenation", parts, ConcatenationAttrs(1))
    named = {"part": top, "joined": joined}
    graph = int8(b.graph(b.op("relu", (joined,)), *(named[name] for name in outputs)))
    assert len(plan_memory(graph, SCALAR).idle) == idle


@pytest.mark.parametrize(
    ("dtype", "shape", "found"),
    [
        (DType.INT8, (1, 4, 5, 3), True),
        (DType.INT16, (1, 4, 5, 3), True),
        (DType.FLOAT32, (1, 4, 5, 3), False),
        (DType.INT8, (2, 4, 5, 3), False),
        (DType.INT8, (4, 5, 3), False),
    ],
)
def test_images_are_one_sample_of_integers(dtype, shape, found):
    assert is_image(Value("x", dtype, shape)) is found


BLOCKS = {
    (4, 2): 2,
    (2, 4): 1,
    (1, 3): 1,
    (2, 3): None,
    (3, 2): None,
    (MAX_BLOCK, 1): MAX_BLOCK,
    (MAX_BLOCK + 1, 1): None,
}
"""Times of a batch, and those between two rows of a stage -> rows of a batch."""


@pytest.mark.parametrize("sizes", BLOCKS, ids=str)
def test_batches_have_one_pattern_or_there_are_none(sizes):
    times, period = sizes
    fitting, draft = (SimpleNamespace(period=p, block=0) for p in (times, period))
    fits = _Builder.set_blocks(SimpleNamespace(times=times, drafts=[fitting, draft]))
    assert fits is (BLOCKS[sizes] is not None)
    if fits:
        assert draft.block == BLOCKS[sizes]
