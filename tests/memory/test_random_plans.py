"""Random programs: no live byte is lost, and no plan is worse than need be."""

import pytest

from tests.memory.random_plans import fits, greedy, random_program, simulate
from tests.sampling import sampled
from tinyrt.memory.placing.place import greedy_size, place
from tinyrt.memory.placing.problem import ALIGNMENT, Problem

pytestmark = pytest.mark.slow

PROGRAMS, BATCHES = sampled((500, 2), (20_000, 4))
FEW = 4
"""Buffers of which every placement can be tried."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_plans_of_random_programs(batch):
    tried = 0
    for seed in range(batch, PROGRAMS, BATCHES):
        program = random_program(seed)
        problem = program.problem()
        found = place(problem)
        simulate(program, found.offsets, found.nbytes)
        assert found.lower_bound <= found.nbytes <= greedy_size(problem)
        if seed % 5 == 0:
            apart = Problem(problem.buffers, {})
            assert place(apart).nbytes <= greedy(apart.buffers)
        if found.optimal and not problem.ties and len(problem.buffers) <= FEW:
            tried += 1
            assert not fits(problem, found.nbytes - ALIGNMENT)
    assert tried > PROGRAMS // BATCHES // 40


def test_small_problems_are_always_solved():
    programs = [random_program(seed) for seed in range(0, PROGRAMS, sampled(1, 7))]
    small = [p for p in programs if len(p.sizes) <= FEW and not p.problem().ties]
    assert len(small) > 100
    assert all(place(p.problem()).optimal for p in small)


def test_the_simulator_finds_buffers_on_top_of_each_other():
    found = tried = 0
    for seed in range(300):
        program = random_program(seed)
        if not any(op.kind == "compute" for op in program.ops):
            continue
        tried += 1
        try:
            simulate(program, [0] * len(program.sizes), sum(program.sizes))
        except AssertionError:
            found += 1
    assert found > 0.9 * tried
