"""A device that answers otherwise than the host fails the command, and the script that calls it."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.calls import call_json
from tests.cli.tiny import TINY
from tinyrt import api
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


OUTCOMES = pytest.mark.parametrize(
    ("report", "code"), [(AGREES, 0), (replace(AGREES, bit_exact=False), 1)]
)


@OUTCOMES
def test_an_emulation_that_disagrees_fails(made, monkeypatch, report, code):
    monkeypatch.setattr(api, "run_emulated", lambda model, **options: report)
    assert call_json("emulate", made.int8, code=code)["bit_exact"] is report.bit_exact


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
