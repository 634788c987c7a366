"""What a profile makes of the times of single runs."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.interpreter.profile import profile
from tinyrt.ops.fully_connected import FullyConnectedAttrs


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_slow_run_of_several_does_not_count(late, monkeypatch):
    """Nor does the one before all, in which caches are filled."""
    b = Builder((1, 4))
    w = b.constant(np.ones((3, 4), np.float32))
    dense = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    graph = b.graph(b.op("tanh", (dense,)))
    ran = [0, 0]
    clock = SimpleNamespace(now=9.0, perf_counter=lambda: clock.now)

    def run_op(index):
        clock.now += (1e-3 if ran[index] == late else 1e-6) * (1 + 3 * index)
        ran[index] += 1

    def invoke():
        clock.now += 1

    monkeypatch.setattr(sys.modules[profile.__module__], "time", clock)
    interpreter = SimpleNamespace(graph=graph, run_op=run_op, invoke=invoke)
    times = profile(interpreter, runs=3)
    assert ran == [3, 3]
    assert [(t.index, t.op, t.macs) for t in times] == [(0, "fully_connected", 12), (1, "tanh", 0)]
    assert [t.name for t in times] == [node.name for node in graph.nodes]
    assert [t.microseconds for t in times] == pytest.approx([1, 4])
    assert [t.share for t in times] == pytest.approx([0.2, 0.8])
