"""Options of ``tinyrt cascade``: the host answers, and what a device would count is told."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cascades import int8, pair, with_exit
from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.quantize.test_mixed import samples
from tinyrt import Cascade, api, load
from tinyrt.api import split_early_exit
from tinyrt.emulate.cascade import CascadeRun
from tinyrt.export import ExportOptions, Memories


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two models, samples to choose by and others to judge by, mostly labelled by the large one."""
    folder = tmp_path_factory.mktemp("cascade")
    first, second = pair(folder)
    model = load(second)
    for name, seed, count in (("choose", 31, 60), ("judge", 32, 20)):
        x = samples(count, seed)
        y = model(x).argmax(axis=1)
        y[:3] = (y[:3] + 1) % 5
        np.savez(folder / f"{name}.npz", x=x, y=y)
    return SimpleNamespace(
        folder=folder,
        models=(first, second),
        choose=folder / "choose.npz",
        judge=folder / "judge.npz",
        base=("cascade", first, second, "-d", folder / "choose.npz"),
    )


COUNTS = (100, 900)
"""Instructions of a sample that the first model answers, and of the others."""


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """Nothing is built: what is asked of the emulator is kept."""
    kept = SimpleNamespace(data=[], options=[], alone=[], agrees=True)

    def emulate(cascade, data, *, progress, **options):
        stages = cascade.run(data).stages
        kept.data.append(data)
        kept.options.append(options)
        emulation = SimpleNamespace(
            **{"core": options["core"], "board": "a board", "agrees": kept.agrees},
            bit_exact=kept.agrees,
            ram=SimpleNamespace(arena=640, stack=88),
            flash=SimpleNamespace(code=3000, weights=2000),
        )
        return CascadeRun(emulation, np.where(stages == 0, *COUNTS).astype(np.int64), stages)

    def run_emulated(model, **options):
        kept.alone.append((model, options))
        return SimpleNamespace(instructions=800)

    monkeypatch.setattr(Cascade, "emulate", emulate)
    monkeypatch.setattr(api, "run_emulated", run_emulated)
    return kept


@shows("cascade", "first", "second", "data")
def test_figures_are_those_of_the_models_named_on_the_data_named(files, asked):
    found = call_json(*files.base, "--exits", 0.5)
    pair_of = Cascade(*files.models)
    choice = pair_of.choose_threshold(files.choose, exits=0.5)
    evaluation = pair_of.evaluate(files.choose)
    assert found["threshold"] == choice.threshold
    assert found["chosen"]["accuracy"] == choice.accuracy
    assert found["chosen"]["second_accuracy"] == found["second_top1"] == 57 / 60
    assert (found["correct"], found["left"]) == (evaluation.correct, evaluation.left)
    assert (found["top1"], found["exits"]) == (evaluation.top1, evaluation.exits)
    mean = (evaluation.left * 100 + (60 - evaluation.left) * 900) / 60
    counted = {"first_answers": 100, "second_answers": 900, "second_alone": 800}
    assert found["instructions"] == {"mean": pytest.approx(mean), **counted}
    assert found["cost"] == pytest.approx(mean / 800)
    assert asked.alone == [
        (files.models[1], {"core": "cortex-m4", "optimize": "balanced", "samples": 1})
    ]
    assert asked.data == [files.choose]
    first, second = files.models
    swapped = call_json("cascade", second, first, "-d", files.judge)
    assert swapped["second_top1"] < 1 - 3 / 20
    assert swapped["samples"] == 20


@shows("cascade", "test")
def test_it_is_judged_by_the_test_data(files, asked):
    found = call_json(*files.base, "--test", files.judge)
    assert found["chosen"]["samples"] == 60
    assert (found["samples"], found["second_top1"]) == (20, 17 / 20)
    assert asked.data == [files.judge]


@shows("cascade", "accuracy")
def test_an_accuracy_is_reached_by_the_least_threshold(files):
    found = [call_json(*files.base, "--accuracy", wanted) for wanted in (0.3, 0.8)]
    assert found[0]["threshold"] < found[1]["threshold"]
    assert found[1]["chosen"]["accuracy"] >= 0.8
    assert "no threshold reaches" in call(*files.base, "--accuracy", "1", code=1).stderr


@shows("cascade", "exits")
def test_exits_are_as_many_as_asked(files):
    for wanted in (0.25, 0.75):
        found = call_json(*files.base, "--exits", wanted)
        assert wanted <= found["chosen"]["exits"] < wanted + 0.06


@shows("cascade", "threshold")
def test_a_threshold_is_taken_as_it_is(files):
    found = call_json(*files.base, "--threshold", 17)
    assert (found["threshold"], found["chosen"]) == (17, None)
    for option in ("--accuracy", "--exits"):
        said = call(*files.base, "--threshold", 17, option, 0.5, code=1).stderr
        assert f"{option} says nothing beside --threshold" in said


@shows("cascade", "output", "name", "layout")
def test_the_project_is_written_where_and_as_asked(files, tmp_path):
    assert "output" not in call_json(*files.base)
    found = call_json(*files.base, "--threshold", 9, "-o", tmp_path / "c", "--name", "eyes")
    assert found["output"] == str(tmp_path / "c")
    header = (tmp_path / "c" / "eyes.h").read_text()
    assert "#define EYES_THRESHOLD 9\n" in header
    assert found["identity"] in header
    call(*files.base, "--threshold", 9, "-o", tmp_path / "d")
    assert (tmp_path / "d" / "cascade.h").exists()
    call(*files.base, "--threshold", 9, "-o", tmp_path / "e", "--layout", "arduino")
    assert (tmp_path / "e" / "src" / "cascade.h").exists()
    assert (tmp_path / "e" / "library.properties").exists()


@shows("cascade", "core", "optimize")
def test_core_and_aim_are_handed_on(files, asked, tmp_path):
    made = {"core": "cortex-m0", "optimize": "size"}
    call_json(*files.base, "--core", "cortex-m0", "--optimize", "size", "-o", tmp_path / "c")
    assert asked.options == [made | {"options": ExportOptions()}]
    assert asked.alone[0][1] == made | {"samples": 1}
    assert "-Os" in (tmp_path / "c" / "Makefile").read_text()
    assert "cortex-m0" in (tmp_path / "c" / "Makefile").read_text()


@shows("cascade", "max_arena", "by_rows", "alignment", "weights_section")
def test_memory_is_as_asked_in_project_and_emulator(files, asked, tmp_path):
    parts = (tmp_path / "first.tflite", tmp_path / "second.tflite")
    split_early_exit(int8(with_exit(), tmp_path / "whole.tflite"), *parts)
    base = ("cascade", *parts, "-d", files.judge, "--threshold", 9, "-o", tmp_path / "c")
    call_json(*base)
    plain = arena_of(tmp_path / "c")
    for given, wanted in (
        (("--by-rows",), {"by_rows": True}),
        (("--max-arena", plain - 1), {"max_arena": plain - 1}),
        (("--alignment", 32), {"memories": Memories(alignment=32)}),
        (("--weights-section", ".slow"), {"memories": Memories(weights_section=".slow")}),
    ):
        call_json(*base, *given)
        assert asked.options[-1]["options"] == ExportOptions(**wanted)
        smaller = given[0] in ("--by-rows", "--max-arena")
        assert (arena_of(tmp_path / "c") < plain) is smaller
    header = (tmp_path / "c" / "cascade.h").read_text()
    assert "CASCADE_ARENA_ALIGNMENT 16" in header
    assert ".slow" in (tmp_path / "c" / "second_weights.c").read_text()
    call_json(*base, "--alignment", 32)
    assert "CASCADE_ARENA_ALIGNMENT 32" in (tmp_path / "c" / "cascade.h").read_text()


def arena_of(folder):
    """What a project's header says."""
    header = (folder / "cascade.h").read_text()
    return int(re.search(r"CASCADE_ARENA_BYTES (\d+)", header)[1])


@shows("cascade", "prefix", "info", "no_unaligned")
def test_the_project_has_what_is_asked(files, asked, tmp_path):
    more = ("--prefix", "acme", "--info", "--no-unaligned")
    call_json(*files.base, "--threshold", 9, "-o", tmp_path / "c", *more)
    assert asked.options[-1]["options"] == ExportOptions()
    written = {path.name for path in (tmp_path / "c").iterdir()}
    assert {"acme_cascade.h", "acme_small_info.c", "acme_large_info.h"} <= written
    build = (tmp_path / "c" / "Makefile").read_text()
    assert "-mno-unaligned-access" in build


def test_the_table_has_the_figures(files, tmp_path):
    found = call_json(*files.base, "--exits", 0.5)
    said = call(*files.base, "--exits", 0.5, "-o", tmp_path / "c").stdout
    rows = dict(re_split(line) for line in said.splitlines() if "  " in line.strip())
    mean = found["instructions"]["mean"]
    expected = {
        "threshold": str(found["threshold"]),
        "chosen by samples": "60",
        "accuracy on them": f"{100 * found['chosen']['accuracy']:.2f} %",
        "samples": "60",
        "accuracy": f"{100 * found['top1']:.2f} %",
        "of the second model alone": "95.00 %",
        "answered by the first": f"{100 * found['exits']:.2f} %",
        "core": "cortex-m4 (a board)",
        "bit-exact with the host": "yes",
        "instructions, mean": f"{mean:,.0f}",
        "where the first answers": "100",
        "where the second does": "900",
        "of the second alone": "800",
        "cost beside the second alone": f"{100 * mean / 800:.2f} %",
        "flash, code bytes": "3,000",
        "flash, weight bytes": "2,000",
        "RAM, arena bytes": "640",
        "RAM, stack bytes": "88",
    }
    assert {name: rows[name] for name in expected} == expected
    assert "written to" in rows


def re_split(line):
    name, _, value = line.strip().partition("  ")
    return name, value.strip()


def test_the_rest_behind_an_exit_has_no_cost_alone(files, asked, tmp_path):
    parts = (tmp_path / "first.tflite", tmp_path / "second.tflite")
    split_early_exit(int8(with_exit(), tmp_path / "whole.tflite"), *parts)
    found = call_json("cascade", *parts, "-d", files.judge, "--threshold", 0)
    assert (found["cost"], found["instructions"]["second_alone"]) == (None, None)
    assert (found["instructions"]["second_answers"], asked.alone) == (None, [])


def test_it_ends_with_status_1_where_the_device_answers_otherwise(files, asked):
    asked.agrees = False
    assert call_json(*files.base, code=1)["bit_exact"] is False
