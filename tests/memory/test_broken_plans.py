"""The checker finds all that a plain replay of single bytes finds, and nothing else."""

from copy import copy
from random import Random

import pytest

from tests.memory.broken_plans import break_plan, verdicts
from tests.memory.byte_arena import Plan
from tests.memory.nets import gated_net, random_net, varied_net, wide_net
from tests.memory.test_segments import WAYS, ranges
from tests.sampling import sampled
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.planning import kernels_of
from tinyrt.memory import plan_memory, plan_segments

NETS, BATCHES = sampled((8, 1), (240, 2))
BREAKS = 10
"""For each plan."""


def _plans(rng, graph, kernels):
    overlap = rng.random() < 0.8
    yield Plan.of(graph, kernels, plan_memory(graph, kernels, overlap=overlap), overlap)
    found = list(ranges(graph, WAYS[:4]))
    if found:
        yield Plan.of(graph, kernels, plan_segments(graph, kernels, (rng.choice(found),)))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_verdicts_on_broken_plans(batch):
    bad = good = 0
    for seed in range(batch, NETS, BATCHES):
        rng = Random(seed)
        graph = rng.choice((random_net, varied_net, gated_net, wide_net))(seed)
        kernels = rng.choice([*map(kernels_of, InstructionSet)])
        for plan in _plans(rng, graph, kernels):
            assert verdicts(plan) == (True, True)
            for _ in range(BREAKS):
                broken = copy(plan)
                broken.offsets, broken.idle = dict(plan.offsets), set(plan.idle)
                broken.segments = list(plan.segments)
                for _ in range(1 + rng.randrange(2)):
                    break_plan(broken, rng)
                found, expected = verdicts(broken)
                assert found == expected, f"net {seed}"
                bad, good = bad + (not expected), good + expected
    assert bad > 100
    assert good > 30
