"""What a model costs: by formula, and against what is linked and counted."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tinyrt
from tests.dsp.test_anomaly import autoencoder
from tests.graphs import small_cnn
from tests.moving import PIPELINE as MOVING
from tests.sampling import WHOLE, sampled
from tests.seeing import GREY, frames_of, int8_net
from tinyrt import api, export
from tinyrt.api import costs
from tinyrt.api.costs import MARGINS, Basis, ModelCost, cost, cost_by_formula
from tinyrt.attached import front_end_entry, front_end_of
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import Timing, image
from tinyrt.errors import BudgetError, DataError, UnsupportedError
from tinyrt.export import ExportOptions
from tinyrt.quantize import quantize_graph
from tinyrt.train.nn import Conv2d, Flatten, Linear, ReLU, Sequential
from tinyrt.train.recipes.digits import digits_cnn

MOVEMENTS = Path(__file__).parents[2] / "firmware_examples" / "motion" / "movements.tflite"
ZOO = ("dscnn_kws", "resnet8", "autoencoder_ad", "mobilenet_vww", "streaming_wakeword")
NEAR = {
    "cortex-m4": 0.03,
    "cortex-m3": 0.03,
    "cortex-m55": 0.3,
    "cortex-m0": 0.4,
    "cortex-m7": 0.03,
    "cortex-m33": 0.03,
    "cortex-m0plus": 0.4,
    "cortex-m23": 0.4,
}
"""Core -> how far an estimate of instructions may be from the count, as docs/search.md says."""
BETWEEN = 32
"""Bytes that compilers may leave between constants, to begin with some at multiples of eight."""

SAMPLE = [("cortex-m4", "dscnn_kws")]


def int8():
    rng = np.random.default_rng(0)
    return quantize_graph(small_cnn(), rng.standard_normal((16, 8, 8, 3)).astype(np.float32))


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "model"), sampled(SAMPLE, [(core, model) for core in NEAR for model in ZOO])
)
def test_formulas_are_as_near_to_the_emulator_as_is_said(core, model, zoo):
    path = zoo / "models" / f"{model}_int8.tflite"
    formula, counted = (cost(path, core, basis=basis) for basis in ("formula", "counted"))
    assert formula.arena == counted.arena
    assert 0 <= counted.weights - formula.weights <= BETWEEN
    near = NEAR[core] if model != "mobilenet_vww" else max(NEAR[core], 0.09)
    assert formula.instructions == pytest.approx(counted.instructions, rel=near)
    assert formula.least_instructions <= counted.instructions == counted.least_instructions
    assert (formula.estimated, counted.estimated) == (("instructions",), ())
    assert formula.flash is None
    assert counted.flash == counted.code + counted.weights


@pytest.mark.device
@pytest.mark.slow
def test_what_is_linked_is_what_the_emulator_has_in_flash(tmp_path):
    path = save_tflite(int8(), tmp_path / "m.tflite")
    linked = cost(path, "m4", optimize="size", basis="linked")
    report = api.run_emulated(path, core="m4", optimize="size", samples=1)
    assert (linked.code, linked.weights) == (report.flash.code, report.flash.weights)
    assert linked.instructions == cost(path, "m4", optimize="size").instructions
    assert linked.estimated == ("instructions",)
    counted = cost(path, "m4", optimize="size", basis="counted")
    assert (counted.instructions, counted.code) == (report.instructions, report.flash.code)
    if WHOLE:
        assert counted.code < cost(path, "m4", basis="linked").code


@pytest.mark.device
@pytest.mark.slow
def test_cycles_are_the_most_that_the_emulator_tells(monkeypatch):
    reports = []

    def run(*arguments, **options):
        reports.append((api.run_emulated(*arguments, **options), options["cycles"]))
        return reports[-1][0]

    monkeypatch.setattr(costs, "run_emulated", run)
    timed = cost(int8(), "m4", optimize="size", basis="timed")
    ((report, timing),) = reports
    assert timing == Timing()
    assert (timed.cycles, timed.instructions) == (report.cycles.cycles.high, report.instructions)
    assert (timed.code, timed.weights) == (report.flash.code, report.flash.weights)
    assert (timed.estimated, timed.least_instructions) == ((), report.instructions)
    assert timed.as_dict()["cycles"] == timed.cycles > timed.instructions
    assert timed.as_dict()["basis"] == "timed"


def test_a_file_a_graph_and_a_float_model_cost_the_same(tmp_path):
    path = save_tflite(int8(), tmp_path / "m.tflite")
    wanted = cost(path)
    assert cost(int8()) == wanted
    assert cost(str(path), "cortex-m4") == wanted
    assert wanted.arena == api.inspect_model(path).arena_bytes
    in_float = cost(small_cnn())
    assert (in_float.arena, in_float.weights) == (wanted.arena, wanted.weights)
    assert wanted.as_dict()["estimated"] == ["instructions"]
    assert wanted.as_dict()["basis"] == "formula"


def test_nothing_is_built_or_run_for_a_formula(monkeypatch):
    monkeypatch.setattr(costs, "run_emulated", None)
    monkeypatch.setenv("PATH", "")
    found = cost(digits_cnn(np.random.default_rng(0)), input_shape=(8, 8, 1))
    assert found.arena == 2176
    assert found.code is None


def test_a_network_keeps_channels_that_random_weights_leave_without_effect():
    def made(sign):
        rng = np.random.default_rng(0)
        dead, out = Conv2d(1, 8, 3, rng=rng), Linear(8 * 16, 3, rng=rng)
        dead.weight.data = np.abs(dead.weight.data)
        dead.weight.data[:4] *= sign
        dead.bias.data[:4] = sign
        return Sequential(conv=dead, relu=ReLU(), flat=Flatten(), out=out)

    alive, half = (cost(made(sign), input_shape=(4, 4, 1)) for sign in (1, -1))
    assert (alive.arena, alive.weights) == (half.arena, half.weights)


def test_the_host_has_no_instructions():
    assert cost(int8(), "host").instructions is None
    assert cost(int8(), "host").least_instructions is None
    assert set(MARGINS) >= {InstructionSet.DSP, InstructionSet.MVE, InstructionSet.SCALAR}


def test_what_is_asked_for_wrongly_is_refused():
    network = digits_cnn(np.random.default_rng(0))
    with pytest.raises(DataError, match="costs cannot be guessed"):
        cost(int8(), basis="guessed")
    with pytest.raises(DataError, match="a network has costs for samples of some shape"):
        cost(network)
    with pytest.raises(DataError, match="the model has an input shape of its own"):
        cost(int8(), input_shape=(8, 8, 3))
    with pytest.raises(UnsupportedError, match="m99"):
        cost(int8(), "m99")
    assert tinyrt.cost is cost
    assert list(Basis) == ["formula", "linked", "counted", "timed"]


@pytest.mark.parametrize(
    ("core", "estimate"), [("cortex-m4", 1100), ("cortex-m55", 1300), ("cortex-m0", 1400)]
)
def test_an_estimate_is_refused_by_what_the_emulator_counts_at_least(core, estimate):
    known = ModelCost(core, Basis.FORMULA, 1, 1, None, estimate)
    assert known.least_instructions == 1000
    for basis in (Basis.COUNTED, Basis.TIMED):
        assert replace(known, basis=basis).least_instructions == estimate


def movements():
    """The example's network and its front end."""
    return read_tflite(MOVEMENTS), front_end_of(MOVEMENTS)


def test_a_front_end_is_counted_along():
    graph, pipeline = movements()
    alone, heard = cost(graph), cost(graph, front_end=pipeline)
    project = api.inspect_model(MOVEMENTS)
    assert alone.arena == project.arena_bytes
    assert heard.arena > alone.arena
    assert (heard.weights, heard.by_op) == (alone.weights, alone.by_op)
    assert heard.instructions is None, "none is estimated"
    assert heard.least_instructions == alone.least_instructions > 0


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_costs_with_a_front_end_are_those_of_an_emulation():
    graph, pipeline = movements()
    recording = np.load(MOVEMENTS.with_name("recording.npy"))[:400]
    given = {"front_end": pipeline, "optimize": "size"}
    counted = cost(graph, "m33", basis="timed", recording=recording, **given)
    timing = Timing()
    report = api.emulate_recording(MOVEMENTS, recording, core="m33", optimize="size", cycles=timing)
    assert counted.instructions == report.instructions
    assert (counted.basis, counted.cycles) == (Basis.TIMED, report.cycles.cycles.high)
    assert counted.instructions < report.cycles.cycles.high
    assert (counted.code, counted.weights) == (report.flash.code, report.flash.weights)
    assert counted.arena == report.ram.arena + report.ram.state
    if WHOLE:
        linked = cost(graph, "m33", basis="linked", **given)
        assert (linked.code, linked.arena) == (counted.code, counted.arena)
        plain = cost(graph, "m33", basis="counted", recording=recording, **given)
        assert (plain.instructions, plain.cycles) == (counted.instructions, None)
    noise = cost(graph, "m33", basis="counted", **given)
    assert noise.instructions == pytest.approx(counted.instructions, rel=0.01)
    assert noise.instructions != counted.instructions, "they depend a little on samples"


def eyes():
    """A network, its camera, and frames."""
    return int8_net(), replace(GREY, boxes=None), frames_of(GREY, 2)


def test_a_camera_is_counted_along():
    graph, vision, _ = eyes()
    alone, seen = cost(graph), cost(graph, front_end=vision)
    # 12 bytes, and 4 for each of the 8 numbers of a row; in words of 8.
    assert seen.arena - alone.arena == 12 + 4 * 8 + 4
    assert (seen.weights, seen.by_op) == (alone.weights, alone.by_op)
    assert seen.instructions is None
    pushed = ExportOptions(input_rows=True)
    assert cost(graph, front_end=vision, options=pushed).arena != seen.arena
    with pytest.raises(UnsupportedError, match="a cost takes no option 'input_rows'"):
        cost(graph, options=pushed)


def test_a_camera_sees_noise_where_no_frame_is_given(monkeypatch):
    graph, vision, _ = eyes()
    seen = []
    monkeypatch.setattr(
        "tinyrt.api.costs.emulate_recording", lambda path, frame, **_: seen.append(frame) or 1 / 0
    )
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            cost(graph, "m4", basis="counted", front_end=vision)
    frame, again = seen
    camera = vision.camera
    assert (frame.shape, frame.dtype) == ((camera.height, camera.line_bytes), np.uint8)
    assert frame.std() == pytest.approx(255 / 12**0.5, rel=0.2)
    np.testing.assert_array_equal(frame, again)


@pytest.mark.device
@pytest.mark.whole
def test_costs_with_a_camera_are_those_of_an_emulation(tmp_path):
    graph, vision, frames = eyes()
    path = tmp_path / "eyes.tflite"
    save_tflite(graph, path, front_end_entry(vision))
    counted = cost(graph, "m4", basis="timed", recording=frames, front_end=vision)
    report = api.emulate_recording(path, frames, core="m4", cycles=Timing())
    assert counted.instructions == report.instructions
    assert (counted.basis, counted.cycles) == (Basis.TIMED, report.cycles.cycles.high)
    assert (counted.code, counted.weights) == (report.flash.code, report.flash.weights)
    assert counted.arena == report.ram.arena + report.ram.state
    linked = cost(graph, "m4", basis="linked", front_end=vision)
    assert (linked.code, linked.arena) == (counted.code, counted.arena)
    noise = cost(graph, "m4", basis="counted", front_end=vision)
    assert noise.instructions == pytest.approx(counted.instructions, rel=0.01)


def test_options_of_the_export_are_asked_for(tmp_path):
    path = save_tflite(int8(), tmp_path / "m.tflite")
    with pytest.raises(BudgetError, match="arena"):
        cost(path, options=ExportOptions(max_arena=50))
    with pytest.raises(UnsupportedError, match="a cost takes no option 'blob'"):
        cost(path, options=ExportOptions(blob=True))


def test_a_graph_costs_by_formula_what_it_costs_on_its_core(tmp_path):
    graph = read_tflite(save_tflite(int8(), tmp_path / "m.tflite"))
    found = [cost_by_formula(graph, "m4", optimize) for optimize in ("speed", "size")]
    assert found == [cost(graph, "m4", optimize=optimize) for optimize in ("speed", "size")]
    assert found[0] != found[1]
    assert cost_by_formula(graph, "m0") == cost(graph, "m0")


def test_what_is_linked_has_room_for_what_comes_between_two_answers(monkeypatch):
    """Samples of all steps and axes, or bytes of a frame; made as the code is asked for."""
    exported, linked, real = [], [], export.export_graph
    sizes = SimpleNamespace(sizes=SimpleNamespace(weights=7, code=9))
    monkeypatch.setattr(
        *(export, "export_graph"), lambda *a, **k: exported.append(k) or real(*a, **k)
    )
    monkeypatch.setattr(image, "build_image", lambda *_, samples: linked.append(samples) or sizes)
    pipeline, (net, vision, _) = replace(MOVING, detector=None, stride=2), eyes()
    graph = autoencoder(2)
    told = cost(graph, "m4", basis="linked", optimize="size", front_end=pipeline)
    assert (told.code, told.weights) == (9, 7)
    assert exported[0] == {
        **{"core": "cortex-m4", "optimize": "size", "options": ExportOptions()},
        "front_end": pipeline,
    }
    pushed = ExportOptions(input_rows=True)
    cost(net, "m4", basis="linked", front_end=vision, options=pushed)
    assert (exported[1]["front_end"], exported[1]["options"]) == (vision, pushed)
    cost(net, "m4", basis="linked")
    camera, motion = vision.camera, pipeline.front
    frame = camera.height * camera.line_bytes
    assert linked == [2 * motion.step * motion.axes, frame, None]


def test_front_ends_that_cost_nothing_that_is_known():
    graph, _ = movements()
    with pytest.raises(DataError, match="a recording says nothing of a model without a front end"):
        cost(graph, recording=np.zeros((400, 3), np.int16))
