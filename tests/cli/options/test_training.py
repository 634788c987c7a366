"""Options of ``tinyrt train`` and ``demo``, on sixteen samples and without an emulator."""

import csv
import json

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.cli.tiny import STAGES, two_classes
from tinyrt.cli import demo
from tinyrt.errors import ToolError
from tinyrt.train.recipes import stages
from tinyrt.train.recipes.digits import SMALL_DIGITS

pytestmark = pytest.mark.slow


def epochs_in(folder):
    with (folder / "history.csv").open() as file:
        return len(list(csv.DictReader(file)))


def models_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.tflite")}


@shows("train", "recipe", "output")
def test_the_recipe_named_is_trained_into_the_folder_named(emulated, tmp_path):
    assert call_json("train")["recipes"]["tiny"] == "two classes"
    found = call_json("train", "tiny", "-o", tmp_path / "a")
    assert [row["name"] for row in found["variants"]] == list(STAGES)
    assert set(models_in(tmp_path / "a")) == {f"tiny_{stage}.tflite" for stage in STAGES}
    assert "dogs" in call("train", "dogs", "-o", tmp_path / "b", code=1).stderr
    assert not (tmp_path / "b").exists()


@shows("train", "epochs")
def test_as_many_epochs_are_trained_as_asked(emulated, tmp_path):
    for options, epochs in (((), 3), (("--epochs", "2"), 2)):
        call("train", "tiny", "-o", tmp_path, *options)
        assert epochs_in(tmp_path) == epochs
    long = call_json("train", "tiny", "-o", tmp_path / "long", "--epochs", "4")
    assert long["variants"]
    assert models_in(tmp_path / "long")["tiny_qat.tflite"] != models_in(tmp_path)["tiny_qat.tflite"]


def test_each_stage_has_as_many_epochs_as_asked(emulated, tmp_path, monkeypatch):
    def train(recipe, **options):
        asked.append(recipe)
        raise ToolError("nothing is trained here")

    asked = []
    monkeypatch.setattr(stages, "train_float", train)
    call("train", "tiny", "-o", tmp_path, "--epochs", "7", code=1)
    (recipe,) = asked
    each = (recipe.training, recipe.int8, recipe.int4, recipe.healing)
    assert {stage.epochs for stage in each} == {7}


@shows("train", "seed")
def test_the_seed_decides_what_is_drawn(emulated, tmp_path):
    seeds = {"default": (), "zero": ("--seed", "0"), "one": ("--seed", "1")}
    for name, options in seeds.items():
        call("train", "tiny", "-o", tmp_path / name, *options)
    default, zero, one = (models_in(tmp_path / name) for name in seeds)
    assert default == zero
    assert all(zero[name] != one[name] for name in zero)


@shows("train", "core", "samples")
def test_as_many_samples_run_on_the_core_as_asked(emulated, tmp_path):
    call("train", "tiny", "-o", tmp_path)
    assert {(e.core, len(e.x)) for e in emulated} == {("cortex-m4", 8)}
    emulated.clear()
    found = call_json("train", "tiny", "-o", tmp_path, "--core", "cortex-m0", "--samples", "3")
    assert {(e.core, len(e.x)) for e in emulated} == {("cortex-m0", 3)}
    assert found["core"] == "cortex-m0"
    np.testing.assert_array_equal(emulated[0].x, two_classes(0).x_test[:3])


@shows("train", "validate")
def test_scores_are_of_training_samples_on_request(emulated, tmp_path):
    found = call_json("train", "tiny", "-o", tmp_path, "--validate")
    assert found["validation"] is True
    held_out = emulated[0].x
    data = two_classes(0)
    assert len(held_out) == 4
    assert all((data.x_train == x).all(axis=(1, 2, 3)).any() for x in held_out)
    assert not call_json("train", "tiny", "-o", tmp_path)["validation"]
    assert "held-out training samples" in call("train", "tiny", "-o", tmp_path, "--validate").stdout


@shows("demo", "output", "seed")
def test_the_demo_has_its_seed_and_its_folder(monkeypatch, tmp_path):
    def train(recipe, *, seed, **options):
        seeds.append((recipe, seed))
        raise ToolError("nothing is trained here")

    seeds = []
    monkeypatch.setattr(demo, "train_float", train)
    monkeypatch.chdir(tmp_path)
    call("demo", code=1)
    call("demo", "-o", tmp_path / "there", "--seed", "7", code=1)
    assert seeds == [(SMALL_DIGITS, 0), (SMALL_DIGITS, 7)]
    assert (tmp_path / "build" / "demo").is_dir()
    assert (tmp_path / "there").is_dir()


@shows("demo", "json")
def test_the_demos_failure_is_json_on_request(monkeypatch, tmp_path):
    def train(recipe, **options):
        raise ToolError("nothing is trained here")

    monkeypatch.setattr(demo, "train_float", train)
    done = call("demo", "-o", tmp_path, "--json", code=1)
    assert json.loads(done.stdout)["error"]["problem"] == "nothing is trained here"
    assert call("demo", "-o", tmp_path, code=1).stdout == ""
