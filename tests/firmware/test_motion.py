"""Models that take samples of motion, on emulated cores: the host's answers, in their budgets."""

import numpy as np
import pytest

from tests.docs.pages import rows_of
from tests.firmware.device import require_core
from tests.graphs import Builder
from tests.listening import saved
from tests.moving import KINDS, PIPELINE, int8_net, moving
from tests.sampling import sampled
from tinyrt import api
from tinyrt.dsp import Motion, Pipeline
from tinyrt.export import export_c
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

pytestmark = pytest.mark.device

LIMITS = {"cortex-m0": 89_500, "cortex-m4": 34_500, "cortex-m55": 16_100, "rv32imc": 54_000}
"""Core -> most instructions of a row of the default front end, and a layer of 2 units."""

RAM, STACK = 1_700, 640
"""Most bytes of arena and state, and of stack."""


@pytest.mark.parametrize("core", sampled(["cortex-m55"], [*LIMITS]))
def test_answers_are_those_of_the_host(core, tmp_path):
    require_core(core)
    path = saved(tmp_path / "arm.tflite", int8_net(), PIPELINE)
    parts = [moving(kind, seed, 90) for seed in range(sampled(1, 80)) for kind in KINDS]
    found = api.emulate_recording(path, np.concatenate(parts), core=core)
    assert found.bit_exact
    assert found.samples == (90 * len(parts) - 50) // 20 + 1


def two_units(front):
    rng = np.random.default_rng(0)
    b, n = Builder((1, front.features)), front.features
    parts = [rng.normal(size=(2, n)), rng.normal(size=2)]
    names = ["x", *(b.constant(part.astype(np.float32)) for part in parts)]
    graph = b.graph(b.op("fully_connected", names, FullyConnectedAttrs()))
    return quantize_graph(graph, rng.normal(size=(20, n)).astype(np.float32), QuantConfig())


def test_limits_are_near_the_pages_figures():
    rows = rows_of("motion.md", "core | instructions | arena and state")
    assert [core for core, *_ in rows] == list(LIMITS)
    for core, *cells in rows:
        instructions, memory, stack = (int(cell.replace(",", "")) for cell in cells)
        assert instructions <= LIMITS[core] <= 1.05 * instructions
        assert memory == RAM
        assert stack <= STACK


def test_memory_is_in_its_budget_before_anything_runs(tmp_path):
    front = Motion()
    path = saved(tmp_path / "m.tflite", two_units(front), Pipeline(scale=0.01, motion=front))
    project = export_c(path, tmp_path / "project")
    assert 0.9 * RAM < project.arena_bytes + project.audio.state_bytes <= RAM


@pytest.mark.whole
@pytest.mark.parametrize("core", [*LIMITS])
def test_budgets(core, tmp_path):
    require_core(core)
    front = Motion()
    path = saved(tmp_path / "m.tflite", two_units(front), Pipeline(scale=0.01, motion=front))
    found = api.emulate_recording(path, moving("walk", 2, 300), core=core)
    assert found.bit_exact
    assert found.instructions <= LIMITS[core]
    assert found.ram.arena + found.ram.state <= RAM
    assert found.ram.stack <= STACK
