"""What C code is told of a segment's steps is what their bytes have, and no more."""

import re
from functools import cache

import pytest

from tests.memory.nets import random_net
from tests.memory.targets import kernels_for
from tinyrt.export.model import write_ops
from tinyrt.export.states import lay_out
from tinyrt.memory import plan_by_rows, plan_pushed
from tinyrt.memory.rows.steps import AGAIN, END, FILL, RUN, SHIFT

KERNELS = kernels_for("cortex-m4")
CASES = {
    "a ring is filled before its stage runs": (20, False),
    "a ring is filled that is not moved": (2, False),
    "batches of fewer rows": (66, False),
    "all batches are whole": (9, False),
    "no ring ever moves": (46, False),
    "rows that are pushed": (3, True),
}


def single_steps(data):
    """The bytes of steps and of cuts, without how often they come again."""
    at = 0
    while data[at] != END:
        if data[at] == AGAIN:
            at += 3
            continue
        yield data[at]
        at += 1


@cache
def told(case):
    """The bytes of all segments' steps, and the flags."""
    seed, pushed = CASES[case]
    graph = random_net(seed)
    plan = plan_pushed(graph, KERNELS) if pushed else plan_by_rows(graph, KERNELS, costly=True)
    writer = write_ops("net", graph, plan, KERNELS.target, lay_out(graph))
    text = "\n".join(d for d in writer.definitions if isinstance(d, str))
    arrays = re.findall(r"rows\d+_steps\[\d+\] = \{([^}]*)\}", text)
    steps = [s for a in arrays for s in single_steps([int(n) for n in re.findall(r"\d+", a)])]
    assert len(arrays) == len(plan.segments) > 0
    (flags,) = re.findall(r"return tinyrt_next_stage\(\w+, \w+, ([\w |]+), arena", text)
    return steps, flags


@pytest.mark.parametrize("case", CASES)
def test_flags_say_what_steps_have(case):
    steps, flags = told(case)
    assert ("TINYRT_WITH_CUTS" in flags) == any(s & (SHIFT | FILL | RUN) == 0 for s in steps)
    assert ("TINYRT_WITH_RINGS" in flags) == any(s & (SHIFT | FILL) for s in steps)


@pytest.mark.parametrize("flag", ["TINYRT_WITH_CUTS", "TINYRT_WITH_RINGS"])
def test_some_segments_have_it_and_some_have_not(flag):
    assert {flag in told(case)[1] for case in CASES} == {True, False}
