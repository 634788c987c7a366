"""What calls are said to cost, against the emulator's counts: more rather than less."""

import pytest

from benchmarks.kernels import LAYERS, Layer, graph_of, measure
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.backends.c.blocks import fours
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.backends.c.parts.pace import pace_of
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.transpose import TransposeAttrs

pytestmark = pytest.mark.slow

MORE = {
    "join": Layer("concatenation", ConcatenationAttrs(3), ((1, 16, 16, 32), (1, 16, 16, 32))),
    "join of rows": Layer("concatenation", ConcatenationAttrs(1), ((1, 16, 16, 32),) * 2),
    "border": Layer("pad", PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0))), ((1, 16, 16, 32),)),
    "turned": Layer("transpose", TransposeAttrs((0, 3, 1, 2)), ((1, 16, 16, 32),)),
    "dense row": Layer("fully_connected", FullyConnectedAttrs(), ((1, 200), (40, 200)), 1.0),
    "dense rows": Layer("fully_connected", FullyConnectedAttrs(), ((7, 96), (20, 96)), 1.0),
}
LEAST, MOST = 0.82, 25
"""Bounds of an estimate, as a share of the count. Kernels without a formula have the upper one."""

KNOWN = ("block_s8", "dense", "depthwise3x3", "linear_sum_s8", "lut_s8", "average_pool2d")


CORES = ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc"]
SAMPLE = [("cortex-m4", False), ("cortex-m4", True), ("cortex-m0", False), ("rv32imc", False)]
"""A core with formulas, and one of each pace."""


@pytest.mark.parametrize(
    ("core", "pairs"), sampled(SAMPLE, [(core, pairs) for core in CORES for pairs in (False, True)])
)
def test_estimates_are_no_less_than_counts(core, pairs, monkeypatch):
    """Of kernels as they are, and of those that slices are made of."""
    require_core(core)
    if pairs:
        monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    layers = LAYERS | MORE
    target = find_core(core)
    graph, _ = graph_of(layers)
    said, kernels = {}, {}
    for node in graph.bound():
        kernel = choose(node, target_of(target, Optimize.BALANCED))
        parts = [
            instructions_of(one, node, kernel, target.isa, pace=pace_of(core))
            for one in kernel.calls
        ]
        said[node.name], kernels[node.name] = sum(parts), kernel.name
    counts = {row["layer"]: row["instructions"] for row in measure(core, layers)}
    ratios = {name: round(said[name] / counts[name], 2) for name in layers}
    assert not {n: r for n, r in ratios.items() if not LEAST <= r <= MOST}
    if core == "cortex-m4":
        known = {n for n in layers if any(part in kernels[n] for part in KNOWN)}
        assert len(known) > 8
        assert not {n: ratios[n] for n in known if ratios[n] > 1.35 and "group" not in kernels[n]}
