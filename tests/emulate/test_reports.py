"""What an emulation reports: each figure from its own source, outputs by name, agreement."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emulate.test_baseline import BASELINE
from tests.export.models import dense
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import EmulationReport, OpCost, Ram, Run, Sizes, run, run_emulated
from tinyrt.emulate.baseline import Baseline
from tinyrt.emulate.cycles import CycleReport, Cycles, Flash, Timing, table_of
from tinyrt.emulate.cycles.report import Basis
from tinyrt.emulate.image import Image
from tinyrt.errors import ToolError
from tinyrt.export import ExportOptions, export_graph, find_core
from tinyrt.export.ports import Port
from tinyrt.export.request import Request
from tinyrt.ir import DType

SIZES = Sizes(kernels=10, model=200, tables=3000, library=40000, weights=5, harness=6, static=7)
OP = OpCost(index=1, op="conv2d", name="y", macs=50, instructions=200, baseline=400)


def report(**changes):
    given = {
        "core": "cortex-m4",
        "board": "mps2-an386",
        "samples": 3,
        "instructions": 900,
        "instructions_per_mac": 4.5,
        "flash": SIZES,
        "ram": Ram(11, 12, 13, 14, 15),
        "bit_exact": False,
        "outputs": {"y": np.array([[1, 2]], np.int8)},
        "baseline": 1800,
        "ops": (OP,),
        "float_error": 0.5,
        "filter_bytes": 4,
        "row_by_row": ("0-3",),
    }
    return EmulationReport(**given | changes)


def test_a_report_as_data_has_every_figure():
    assert json.loads(json.dumps(report().as_dict())) == {
        "core": "cortex-m4",
        "board": "mps2-an386",
        "samples": 3,
        "instructions": 900,
        "instructions_per_mac": 4.5,
        "baseline": 1800,
        "flash": {
            "code": 43210,
            "weights": 5,
            "filters": 4,
            "parts": {"kernels": 10, "model": 200, "tables": 3000, "library": 40000},
            "harness": 6,
        },
        "ram": {"arena": 11, "stack": 12, "stack_bound": 13, "static": 14, "state": 15},
        "row_by_row": ["0-3"],
        "bit_exact": False,
        "float_error": 0.5,
        "ops": [
            {
                "index": 1,
                "op": "conv2d",
                "name": "y",
                "macs": 50,
                "instructions": 200,
                "instructions_per_mac": 4.0,
                "baseline": 400,
                "ratio": 0.5,
            }
        ],
        "outputs": {"y": [[1, 2]]},
    }
    assert "ops" not in report(ops=None).as_dict()
    assert report(ops=()).as_dict()["ops"] == []


@pytest.mark.parametrize(
    ("bit_exact", "float_error", "agrees"),
    [
        (True, None, True),
        (False, None, False),
        (None, None, False),
        (False, 0.0, True),
        (False, 1e-4, True),
        (False, 1.01e-4, False),
        (False, math.inf, False),
        (True, 1.0, True),
    ],
)
def test_integers_agree_exactly_and_floats_nearly(bit_exact, float_error, agrees):
    assert report(bit_exact=bit_exact, float_error=float_error).agrees is agrees


# Outputs


def port(name, dtype=DType.INT8, shape=(1, 2)):
    return Port(name, dtype, shape, 0, math.prod(shape) * dtype.itemsize, None, None)


def test_outputs_of_all_samples_are_taken_apart_in_order():
    ports = [port("a"), port("b", DType.INT16, (1, 1, 2)), port("c", DType.INT8, (3,))]
    given = {
        "a": np.array([[1, 2], [3, -4]], np.int8),
        "b": np.array([[[500, 600]], [[700, -800]]], np.int16),
        "c": np.array([[5, 6, 7], [8, 9, 10]], np.int8),
    }
    rows = [b"".join(given[p.name][i].tobytes() for p in ports) for i in range(2)]
    assert run.pack_inputs(ports, given) == (b"".join(rows), 2)
    found = run.unpack_outputs(ports, b"".join(rows), 2)
    assert list(found) == ["a", "b", "c"]
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_outputs_that_are_too_long_are_refused():
    with pytest.raises(ToolError, match=r"wrote 1,001 bytes of output(.|\n)*1,000 bytes"):
        run.unpack_outputs([port("a", shape=(1, 500))], bytes(1001), 2)


# The whole emulation, of which building and running are stood in for

ANSWERS = np.array([[1, 2], [3, 4], [5, 6]], np.int8)


@pytest.fixture
def emulated(tmp_path, monkeypatch):
    """Emulates a model of two outputs; returns the report and what was handed on."""
    path = save_tflite(dense(), tmp_path / "net.tflite")
    seen = {}

    def build(project, build_dir, *, board):
        seen["project"], seen["board"] = project, board
        return Image(Path("image.elf"), board, SIZES, 33)

    def boot(image, packed, run_dir, *, timeout_s, progress, gdb, options):
        assert image.path == Path("image.elf")
        seen.update(packed=packed, timeout_s=timeout_s, gdb=gdb, options=options)
        for nbytes in (0, 2, 5, 6):
            if progress is not None:
                progress(nbytes)
        return Run(ANSWERS.tobytes(), 640, 44, 55, (30, 200, 10))

    def export(*arguments, **options):
        seen["asked"] = options
        project = export_graph(*arguments, **options)
        return replace(project, segments=(SimpleNamespace(first=0, stop=1),))

    def called(graph, request):
        seen["called"] = request
        return replace(graph, name=f"{graph.name}, as called")

    def profile(project, graph, first, build_dir, **options):
        seen["profile"] = (project, graph.name, first, options)
        return (OP,)

    monkeypatch.setattr(run, "build_image", build)
    monkeypatch.setattr(run, "run_image", boot)
    monkeypatch.setattr(run, "profile_ops", profile)
    monkeypatch.setattr(run, "export_graph", export)
    monkeypatch.setattr(run, "for_request", called)
    inputs = {"x": np.arange(12, dtype=np.int8).reshape(3, 4)}

    def emulate(**options):
        return run_emulated(path, inputs=inputs, build_dir=tmp_path / "b", **options), seen

    return emulate


def test_each_figure_comes_from_its_source(emulated):
    found, seen = emulated(timeout_s=7.0)
    assert (found.core, found.board, found.samples) == ("cortex-m4", "mps2-an386", 3)
    assert (found.instructions, found.instructions_per_mac) == (640, 640 / 8)
    assert found.flash == SIZES
    assert found.ram == Ram(arena=55, stack=44, stack_bound=33, static=7, state=0)
    assert (found.bit_exact, found.float_error, found.ops, found.baseline) == (None,) * 4
    assert found.slices is None
    assert found.filter_bytes == seen["project"].filter_bytes == 16
    assert found.row_by_row == ("0-0",)
    np.testing.assert_array_equal(found.outputs["y"], ANSWERS)
    assert seen["packed"] == bytes(range(12))
    assert seen["timeout_s"] == 7.0
    assert seen["gdb"] is None
    assert seen["options"] == ()
    assert found.cycles is None
    assert "profile" not in seen


def test_what_is_asked_for_is_exported(emulated):
    for given in ({}, {"core": "m0", "optimize": "size", "options": ExportOptions(by_rows=True)}):
        asked = emulated(**given)[1]["asked"]
        usual = {"core": "m4", "optimize": "balanced", "options": ExportOptions()}
        wanted = usual | given
        wanted["core"] = find_core(wanted["core"]).name
        assert {name: asked[name] for name in usual} == wanted


def test_another_engine_s_total_is_that_of_core_and_model(emulated, monkeypatch):
    monkeypatch.setattr(run, "load_baseline", lambda: BASELINE)
    assert emulated()[0].baseline == 90
    assert emulated(core="m0")[0].baseline is None


@pytest.mark.parametrize("counted", [True, False])
def test_slices_have_what_was_counted_of_them_or_was_estimated(counted, emulated):
    """The middle one is the longest by count, and the last by the plan."""
    ran = emulated(options=ExportOptions(slices=5_000))[0].slices
    assert ran.instructions == (30, 200, 10)
    assert ran.plan.limit == 5_000
    stages = tuple(replace(ran.plan.stages[0], nodes=(i,), instructions=7 + i) for i in range(3))
    plan = replace(ran.plan, stages=stages, names={0: "a", 1: "b", 2: "c"})
    found = replace(ran, plan=plan, instructions=ran.instructions if counted else None).as_dict()
    assert found["estimated"] == 9
    longest = (200, [1], ["b"]) if counted else (None, [2], ["c"])
    assert found["longest"] == dict(zip(("instructions", "ops", "names"), longest, strict=True))


def test_given_macs_take_the_place_of_counted_ones(emulated):
    assert emulated(macs=64)[0].instructions_per_mac == 10
    assert emulated(macs=0)[0].instructions_per_mac is None


def test_progress_counts_samples(emulated):
    seen = []
    emulated(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(("change", "exact"), [(0, True), (1, False)], ids=["same", "one differs"])
def test_answers_are_compared_with_the_expected_ones(emulated, change, exact):
    expected = ANSWERS.copy()
    expected[2, 1] += change
    found, _ = emulated(expected={"y": expected})
    assert (found.bit_exact, found.agrees) == (exact, exact)
    assert emulated(expected={"y": expected.astype(np.int16)})[0].bit_exact is False


def test_a_profile_is_of_the_first_sample_on_the_same_board(emulated):
    found, seen = emulated(profile=True, board="mps2-an500", timeout_s=9.0)
    project, name, first, options = seen["profile"]
    assert found.ops == (OP,)
    assert (project, name, first) == (seen["project"], "net, as called", bytes(range(4)))
    assert options["board"] is seen["board"]
    assert found.board == seen["board"].name == "mps2-an500"
    assert options["timeout_s"] == 9.0
    assert isinstance(options["baseline"], Baseline)


@pytest.mark.parametrize("option", [{"blob": True}, {"slices": 2000}])
def test_a_profile_is_of_the_layers_that_are_exported(emulated, option):
    options = ExportOptions(**option)
    _, seen = emulated(profile=True, core="m7", optimize="size", options=options)
    assert seen["called"] == Request.of("cortex-m7", "size", options)


def test_on_this_machine_there_is_no_board(emulated):
    found, seen = emulated(core="host")
    assert found.board is seen["board"] is None


# Cycles


class Measured:
    """Stands for a meter: what it is asked, and what it answers."""

    def __init__(self, core, board, timing):
        self.asked = (core.name, board.name, timing)

    def listing(self, image):
        return f"listing of {image}"

    def options(self, listing, marks, run_dir):
        return [listing, *marks, run_dir.name]

    def of_inference(self, *arguments):
        return arguments


def test_cycles_are_those_of_the_run_and_its_last_passes(emulated, monkeypatch):
    meters = []

    def meter_for(*arguments):
        meters.append(Measured(*arguments))
        return meters[-1]

    monkeypatch.setattr(run, "meter_for", meter_for)
    found, seen = emulated(cycles=TIMING, core="cortex-m3")
    assert meters[0].asked == ("cortex-m3", "mps2-an385", TIMING)
    listing = "listing of image.elf"
    assert seen["options"] == [listing, "harness_call", "harness_clock_stop", "b"]
    assert found.cycles[0] == listing
    assert found.cycles[1].name == "b"
    assert found.cycles[2:] == (640, 4)
    assert found.ops == (OP,)
    assert seen["profile"][3]["meter"] is meters[0]
    emulated(profile=True)
    assert seen["profile"][3]["meter"] is None


TIMING = Timing(Flash(3, 32, 1024, None), clock_hz=2e6, mj_per_mcycle=5.0)


def test_cycles_as_data_have_time_and_energy():
    cycles = CycleReport(Cycles(1000, 3000), table_of("cortex-m7"), Basis.INSTRUCTIONS, TIMING)
    found = report(cycles=cycles, ops=(replace(OP, cycles=Cycles(7, 9)),)).as_dict()
    assert found["cycles"] == {"low": 1000, "high": 3000}
    assert found["milliseconds"] == {"low": 0.5, "high": 1.5}
    assert found["millijoules"] == pytest.approx({"low": 0.005, "high": 0.015})
    timing = found["timing"]
    assert timing.pop("reason").startswith("the manual has no cycles")
    assert timing == {
        "manual": "Cortex-M7 Technical Reference Manual, Arm DDI 0489",
        "exact": False,
        "basis": "instructions",
        "flash": {"wait": 3, "line": 32, "code_cache": 1024, "data_cache": None},
        "multiplier": 1,
        "clock_hz": 2e6,
        "mj_per_mcycle": 5.0,
    }
    assert found["ops"][0]["cycles"] == {"low": 7, "high": 9}
    plain = replace(cycles, timing=Timing(small_multiplier=True)).as_dict()
    assert (plain["timing"]["multiplier"], "milliseconds" in plain) == (32, False)


@pytest.mark.parametrize(("exact", "equal"), [(True, "yes"), (False, "no"), (None, "–")])
def test_a_notebook_shows_the_main_figures(exact, equal):
    made = report(bit_exact=exact, instructions=1900, ram=Ram(11, None, 13, 14, 15))
    rows = re.findall(r"<tr><th>(.*?)</th><td>(.*?)</td></tr>", made._repr_html_())
    assert dict(rows) == {
        "core": "cortex-m4",
        "samples": "3",
        "equal to the host": equal,
        "instructions per inference": "1,900",
        "flash, code bytes": "43,210",
        "flash, weight bytes": "5",
        "arena bytes": "11",
        "stack bytes": "–",
    }
