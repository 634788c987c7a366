"""Compiled kernels write to as much scratch memory as they ask for, and to no byte behind it."""

import re
import sys
from pathlib import Path

from tests.backends.lane_cases import build as build_layer
from tests.backends.lane_cases import cases
from tests.interpreter.test_conformance import check
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tinyrt.backends import numba
from tinyrt.backends.numba.workspace import Workspace

FOLDER = Path(numba.__file__).parent
MARK = 0xA5
OPS = [
    *((op, build) for op in ("conv2d", "depthwise_conv2d") for build in (build_s8, build_s16)),
    *(("average_pool2d", build) for build in (build_s8, build_s16)),
    ("fully_connected", build_s8),
    ("unidirectional_sequence_lstm", build_s8),
    ("softmax", build_s16),
]
"""Ops whose kernels ask for some."""


class Watch:
    """Scratch memory of each workspace, how much of it was asked for, and by which lines."""

    def __init__(self, patched):
        need, scratch = Workspace.need_scratch, Workspace.scratch
        self.found, self.asked = [], set()

        def needing(workspace, nbytes):
            caller = sys._getframe(1)
            self.asked.add((Path(caller.f_code.co_filename).name, caller.f_lineno))
            workspace.most = max(getattr(workspace, "most", 0), nbytes)
            need(workspace, nbytes)

        def marked(workspace):
            place, most = scratch(workspace), getattr(workspace, "most", 0)
            self.found.append((workspace._alive[-1], most))
            self.found[-1][0][most:] = MARK
            return place

        patched.setattr(Workspace, "need_scratch", needing)
        patched.setattr(Workspace, "scratch", marked)


def test_bytes_behind_it_stay(monkeypatch):
    """Of every op that asks for some: each line that does was seen to."""
    watch = Watch(monkeypatch)
    for op, build in OPS:
        for seed in range(20):
            rng = rng_of(op, seed)
            built = build(CASES[op](rng), rng)
            check(built.graph, built.feeds, "numba")
            assert all((memory[most:] == MARK).all() for memory, most in watch.found), op
            watch.found.clear()
    for name, case, finish in cases():
        built = build_layer(case, rng_of(name, 0), finish)
        check(built.graph, built.feeds, "numba")
        assert all((memory[most:] == MARK).all() for memory, most in watch.found), name
        watch.found.clear()
    there = {
        (path.name, number)
        for path in FOLDER.glob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(r"workspace\.need_scratch\(", line)
    }
    assert watch.asked == there
