"""A device that answers otherwise than the host fails the command, and the script that calls it."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import tinyrt.report
import tinyrt.search
from tests.cli import test_report_table as reported
from tests.cli.calls import call, call_json
from tests.cli.options.test_search import MODEL, result
from tests.cli.tiny import TINY
from tinyrt import api
from tinyrt.board.identity import Identity
from tinyrt.board.validation import Difference, Ticks, ValidationReport
from tinyrt.cli import demo
from tinyrt.emulate import EmulationReport
from tinyrt.emulate.report import Ram
from tinyrt.emulate.sizes import Sizes
from tinyrt.metrics import Evaluation
from tinyrt.train import recipes

AGREES = EmulationReport(
    *("cortex-m4", "mps2-an386", 1, 1234, 1.5),
    Sizes(100, 20, 30, 4, 5000, 600, 7),
    Ram(800, 90, 96, 0),
    bit_exact=True,
    outputs={},
)


DIFFERS = replace(AGREES, bit_exact=False)
OUTCOMES = pytest.mark.parametrize(("report", "code"), [(AGREES, 0), (DIFFERS, 1)])

BOARD = Identity(False, 64, 1, 1, 8, 0, 0, "0" * 8, "0" * 64, "1")
ANSWERED = ValidationReport("port", BOARD, 1, 1, None, Ticks(1, 1, 1, 0))
WRONG = replace(ANSWERED, equal=0, difference=Difference(0, "y", 0, 1.0, 2.0))

MODES = {
    "several": ("run_emulated_several", ["b"], {"a": AGREES, "b": AGREES}, 0),
    "the first of several": ("run_emulated_several", ["b"], {"a": DIFFERS, "b": AGREES}, 1),
    "the last of several": ("run_emulated_several", ["b"], {"a": AGREES, "b": DIFFERS}, 1),
    "a recording": ("emulate_recording", ["--recording", "r.npy"], AGREES, 0),
    "a wrong recording": ("emulate_recording", ["--recording", "r.npy"], DIFFERS, 1),
    "a firmware": ("run_firmware", ["--elf", "f.elf"], ANSWERED, 0),
    "a wrong firmware": ("run_firmware", ["--elf", "f.elf"], WRONG, 1),
}
"""What an emulation runs: a function, arguments behind the model, what it answers, the status."""


@OUTCOMES
def test_an_emulation_that_disagrees_fails(made, monkeypatch, report, code):
    monkeypatch.setattr(api, "run_emulated", lambda model, **options: report)
    assert call_json("emulate", made.int8, code=code)["bit_exact"] is report.bit_exact


@pytest.mark.parametrize("mode", MODES)
def test_whatever_is_emulated_fails_where_a_part_of_it_disagrees(made, monkeypatch, mode):
    function, arguments, answer, code = MODES[mode]
    monkeypatch.setattr(api, function, lambda *_, **options: answer)
    call("emulate", made.int8, *arguments, code=code)


@pytest.mark.parametrize(
    ("found", "agrees", "code"), [(1, True, 0), (1, False, 1), (0, True, 1), (0, False, 1)]
)
def test_a_search_fails_without_a_network_and_where_one_disagrees(monkeypatch, found, agrees, code):
    point = SimpleNamespace(trial=1, score=0.5, loss=None, costs={}, model=MODEL, test=None)
    point.emulated = None
    answer = result(front=(point,) * found, agrees=agrees, as_dict=dict)
    monkeypatch.setattr(tinyrt.search, "search_networks", lambda *_, **options: answer)
    call("search", "tcn", "-d", "d.npz", "-o", "out", "--max-arena", "2k", code=code)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([[True, None], [None, True]], 0),
        ([[False, True], [True, True]], 1),
        ([[True, False], [True, True]], 1),
        ([[True, True], [True, False]], 1),
    ],
)
def test_a_report_fails_where_any_model_disagrees_on_any_core(found, code, tmp_path, monkeypatch):
    models = [
        replace(reported.MODEL, cores=tuple(replace(reported.CORE, bit_exact=e) for e in each))
        for each in found
    ]

    def write(paths, output, **options):
        output.write_text("a page")
        return reported.Report("1", "balanced", tuple(models))

    monkeypatch.setattr(tinyrt.report, "write_report", write)
    call("report", "a.tflite", "b.tflite", "-o", tmp_path / "page.html", code=code)


@OUTCOMES
def test_a_demonstration_that_disagrees_fails(monkeypatch, report, code):
    host = Evaluation(10, 9, 0.9, None, None, 1.0, "numba")
    result = demo.Demo(host, host, report, 9, 1.0, 4321, {Path("a"): "a file"})
    monkeypatch.setattr(demo, "run_demo", lambda folder, **options: result)
    assert call_json("demo", code=code)["bit_exact"] is report.bit_exact


def test_a_recipe_fails_where_one_of_its_models_disagrees(tmp_path, monkeypatch):
    def run(path, **options):
        return replace(AGREES, bit_exact=path.name not in disagree)

    disagree: list[str] = []
    monkeypatch.setattr(api, "run_emulated", run)
    monkeypatch.setitem(recipes.RECIPES, "tiny", TINY)
    call_json("train", "tiny", "-o", tmp_path)
    disagree.append("tiny_pruned.tflite")
    found = call_json("train", "tiny", "-o", tmp_path, code=1)["variants"]
    assert [row["name"] for row in found if not row["agrees"]] == ["pruned"]
