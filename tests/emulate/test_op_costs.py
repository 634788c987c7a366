"""What an op costs, beside another engine and in cycles; the image is not built here."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.emulate.test_counting import CALIBRATION
from tests.export.models import views
from tinyrt.emulate import profile
from tinyrt.emulate.cycles import Cycles
from tinyrt.emulate.profile import NOTHING, OpCost, profile_ops


@pytest.mark.parametrize(
    ("macs", "baseline", "per_mac", "ratio"),
    [(50, 400, 2.0, 0.25), (0, 400, None, 0.25), (50, None, 2.0, None), (50, 0, 2.0, None)],
)
def test_what_nothing_is_compared_with_has_no_ratio(macs, baseline, per_mac, ratio):
    """Another engine has no instructions for an op that it leaves out: that is no ratio."""
    cost = OpCost(0, "conv2d", "c", macs, 100, baseline)
    assert (cost.instructions_per_mac, cost.ratio) == (per_mac, ratio)
    found = cost.as_dict()
    assert (found["instructions_per_mac"], found["ratio"]) == (per_mac, ratio)
    assert "cycles" not in found


class Meter:
    """Tells the cycles of the ops that were called."""

    def listing(self, path):
        return path

    def options(self, listing, hooks, folder):
        return []

    def of_ops(self, listing, folder, ops, instructions, phases):
        return {op: Cycles(5, 6) for op in instructions}


@pytest.mark.parametrize("metered", [False, True])
def test_an_op_without_a_call_takes_nothing(metered, monkeypatch):
    """Neither instructions nor cycles, and cycles are told of all ops or of none."""
    graph = views()
    called = graph.bind(len(graph.nodes) - 1)
    report = CALIBRATION | {"op": [called.index, NOTHING], "op_ticks": [9, 1], "op_polls": [0, 0]}
    image = SimpleNamespace(path=Path("image.elf"))
    monkeypatch.setattr(profile, "build_image", lambda *args, **kwargs: image)
    monkeypatch.setattr(profile, "boot", lambda *args, **kwargs: report)
    project = SimpleNamespace(core=SimpleNamespace(name="cortex-m4"))
    costs = profile_ops(
        *(project, graph, b"", Path()), board=None, meter=Meter() if metered else None
    )
    assert [cost.index for cost in costs] == list(range(len(graph.nodes)))
    for cost in costs:
        was_called = cost.index == called.index
        assert (cost.instructions > 0) is was_called
        wanted = Cycles(5, 6) if was_called else Cycles(0, 0)
        assert cost.cycles == (wanted if metered else None)
