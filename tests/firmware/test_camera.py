"""Models that take frames of a camera, on emulated cores: the host's answers, in their budgets."""

import pytest

from tests.firmware.device import require_core
from tests.listening import saved
from tests.sampling import sampled
from tests.seeing import COLOURS, GREY, frames_of, int8_net
from tinyrt import api
from tinyrt.export import ExportOptions

pytestmark = pytest.mark.device

CORES = ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"]
CASES = [(core, vision, rows) for core in CORES for vision in (GREY, COLOURS) for rows in (0, 1)]


@pytest.mark.parametrize(("core", "vision", "rows"), sampled([CASES[1]], CASES))
def test_answers_are_those_of_the_host_and_costs_those_of_the_run(core, vision, rows, tmp_path):
    require_core(core)
    graph = int8_net(vision.camera.channels)
    path = saved(tmp_path / "eyes.tflite", graph, vision)
    frames = frames_of(vision, sampled(12, 200), seed=4)
    options = ExportOptions(input_rows=bool(rows))
    found = api.emulate_recording(path, frames, core=core, options=options)
    assert found.bit_exact
    assert found.samples == len(frames)
    assert found.ram.state > 4 * vision.camera.row_size
    given = {"recording": frames, "front_end": vision, "options": options}
    counted = api.cost(graph, core, basis="counted", **given)
    assert counted.instructions == found.instructions
    assert counted.arena == found.ram.arena + found.ram.state
    assert (counted.code, counted.weights) == (found.flash.code, found.flash.weights)
