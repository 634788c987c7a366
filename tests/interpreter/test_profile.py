"""What a profile makes of the times of single runs."""

import sys
from types import SimpleNamespace

import pytest

from tests.graphs import Builder
from tinyrt.interpreter.profile import profile


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_slow_run_of_several_does_not_count(late, monkeypatch):
    """Nor does the one before all, in which caches are filled."""
    b = Builder((1, 4))
    graph = b.graph(b.op("tanh", (b.op("relu", ("x",)),)))
    ran = [0, 0]
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)

    def run_op(index):
        clock.now += (1e-3 if ran[index] == late else 1e-6) * (1 + 3 * index)
        ran[index] += 1

    def invoke():
        clock.now += 1

    monkeypatch.setattr(sys.modules[profile.__module__], "time", clock)
    interpreter = SimpleNamespace(graph=graph, run_op=run_op, invoke=invoke)
    times = profile(interpreter, runs=3)
    assert ran == [3, 3]
    assert [(t.index, t.op) for t in times] == [(0, "relu"), (1, "tanh")]
    assert [t.microseconds for t in times] == pytest.approx([1, 4])
    assert [t.share for t in times] == pytest.approx([0.2, 0.8])
