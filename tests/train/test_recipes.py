"""The recipes: real data in, a table of measured variants out; and what each must reach."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.recipes import digits, distillation, promises
from tests.sampling import sampled
from tinyrt.cli.app import app
from tinyrt.errors import DataError, ModelFormatError, ToolError
from tinyrt.train.qat import QatConfig
from tinyrt.train.recipes import RECIPES
from tinyrt.train.recipes.anomaly import ANOMALY, load_anomaly
from tinyrt.train.recipes.gesture import GESTURE
from tinyrt.train.recipes.recipe import Training, held_out
from tinyrt.train.recipes.series import aeon_file, load_series, padded, read_ts, varied
from tinyrt.train.recipes.stages import train_float

ROOT = Path(__file__).parents[2]
FORMS = ["float", "ptq", "qat", "pruned", "int4"]


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_motion_goes_all_the_way(tmp_path):
    done = CliRunner().invoke(app, ["train", "motion", "-o", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    found = {v["name"]: v for v in json.loads(done.stdout)["variants"]}
    assert list(found) == FORMS
    assert min(v["top1"] for v in found.values()) >= 0.95
    assert [v["bit_exact"] for v in found.values()] == [None, True, True, True, True]
    assert found["pruned"]["macs"] <= 0.5 * found["qat"]["macs"]
    for key in ("bytes", "arena", "instructions"):
        assert found["pruned"][key] < found["qat"][key] < found["float"][key]
    assert found["float"]["float_error"] < 1e-5
    assert all(v["agrees"] for v in found.values())
    assert found["int4"]["bytes"] < found["qat"]["bytes"] < found["float"]["bytes"]
    written = {p.name for p in tmp_path.iterdir()}
    assert {"motion_qat.tflite", "motion_qat_firmware", "history.csv", "history.svg"} <= written
    assert rows_in_page("motion") == [row_of(v) for v in found.values()]


def rows_in_page(recipe):
    """What docs/train.md has of a recipe: accuracy, bytes, products, arena and instructions."""
    lines = (ROOT / "docs" / "train.md").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"| {recipe} | float |"))
    return [line.strip("| ").split(" | ")[-5:] for line in lines[first : first + len(FORMS)]]


def row_of(variant):
    figures = [f"{variant[key]:,}" for key in ("bytes", "macs", "arena", "instructions")]
    top1 = f"{100 * variant['top1']:.2f}".removesuffix(".00") + " %"
    return [top1, *figures]


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["anomaly"], ["gesture", "vowels", "anomaly"]))
@pytest.mark.whole
def test_every_recipe_ends_in_a_table_and_in_firmware(name, tmp_path):
    """At a glance, in one epoch a stage."""
    quick = ["--epochs", "1", "--samples", "2", "--json"]
    done = CliRunner().invoke(app, ["train", name, "-o", str(tmp_path), *quick])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["variants"]
    assert [v["name"] for v in found] == FORMS
    for variant in found:
        assert {"name", "top1", "bytes", "macs", "arena", "instructions"} <= variant.keys()
        assert variant["agrees"]
        assert min(variant[key] for key in ("bytes", "macs", "arena", "instructions")) > 0
    assert [v["bit_exact"] for v in found] == [None, True, True, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", sampled(["vowels"], ["motion", "vowels", "digits"]))
@pytest.mark.whole
def test_what_a_recipe_promises_holds(recipe):
    """Every figure that ``benchmarks.recipes`` shows, against its limit; of digits all but int4,
    which ``test_qat`` holds on the small network."""
    found = list(digits(int4=False) if recipe == "digits" else promises(recipe))
    assert len(found) == (8 if recipe == "digits" else 3)
    assert all(promise.holds for promise in found), found


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize("seeds", [1])
def test_a_teacher_is_worth_half_a_point_where_labels_are_few(seeds):
    """One seed of the benchmark's five; ``test_distill`` has what a teacher changes."""
    size, gain = distillation(seeds=seeds)
    assert size.holds, size
    assert gain.holds, gain


def test_weights_have_four_or_eight_bits():
    with pytest.raises(DataError, match="3 bits"):
        QatConfig(weight_bits=3)


@pytest.mark.slow
def test_the_anomaly_stands_out():
    trained = train_float(replace(ANOMALY, training=Training(20, 1e-2)))
    assert trained.score()["auc"] >= 0.9
    data = load_anomaly(0)
    assert data.y_test.sum() == pytest.approx((64 + 12) / 2, abs=2)
    with pytest.raises(DataError, match="no classes"):
        held_out(data, 0.25, 0)


def test_recipes_are_listed_and_unknown_ones_refused():
    listed = CliRunner().invoke(app, ["train", "--json"])
    assert set(json.loads(listed.stdout)["recipes"]) == set(RECIPES)
    refused = CliRunner().invoke(app, ["train", "dogs", "--json"])
    assert refused.exit_code == 1
    assert "gesture" in json.loads(refused.stdout)["error"]["expected"]


def test_series_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "two.ts"
    path.write_text("# note\n@problemName two\n@data\n1,2,3:4,5,6:b\n7.5:-8:a\n")
    series, labels = read_ts(path)
    assert [s.tolist() for s in series] == [[[1, 4], [2, 5], [3, 6]], [[7.5, -8]]]
    assert labels == ["b", "a"]
    assert padded(series, 2).tolist() == [[[[1, 4], [2, 5]]], [[[7.5, -8], [0, 0]]]]
    path.write_text("1,2,3:b\n")
    with pytest.raises(ModelFormatError, match="@data"):
        read_ts(path)
    with pytest.raises(ToolError, match="lacks a data file"):
        aeon_file("Nowhere", "nothing.ts")


def test_a_problem_is_scaled_by_its_training_part():
    data = load_series("PickupGestureWiimoteZ", 361)
    assert data.x_train.shape == data.x_test.shape == (50, 1, 361, 1)
    assert sorted(np.unique(data.y_train)) == list(range(10))
    there = data.x_train[data.x_train != 0]
    assert (there.mean(), there.std()) == pytest.approx((0, 1), abs=0.05)


def test_a_problem_has_its_own_series_whatever_the_seed():
    found = [GESTURE.load(seed) for seed in (0, 1)]
    wanted = load_series("PickupGestureWiimoteZ", 361)
    for data in found:
        np.testing.assert_array_equal(data.x_train, wanted.x_train)
        np.testing.assert_array_equal(data.y_test, wanted.y_test)


def test_varied_series_are_moved_scaled_and_noisy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1, 12, 2)).astype(np.float32)
    same = varied(x, rng, scale=0, noise=0, steps=0)
    assert np.array_equal(same, x)
    moved = varied(x, rng, scale=0, noise=0, steps=2)
    middle = x[:, :, 4:8]
    at = [np.abs(moved[:, :, 2 + k : 6 + k] - middle).max(axis=(1, 2, 3)) == 0 for k in range(5)]
    assert np.sum(at, axis=0).tolist() == [1] * 40
    assert all(found.any() for found in at)
