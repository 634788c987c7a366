"""Parts of recipes, one by one: networks against the page's figures, layers, rates, stages."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.tiny import TINY, two_classes
from tests.docs.pages import ROOT
from tinyrt.api import inspect_model
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ModelFormatError, ToolError
from tinyrt.memory import schedule
from tinyrt.ops import OPS
from tinyrt.train import trace
from tinyrt.train.nn import Conv2d, Flatten, Linear, ReLU, Sequential
from tinyrt.train.recipes import RECIPES, digits, series, stages
from tinyrt.train.recipes.along_time import Epochs, SeriesProblem, Variation
from tinyrt.train.recipes.anomaly import detection, load_anomaly, windows
from tinyrt.train.recipes.recipe import Dataset, Training, top1
from tinyrt.train.recipes.series import classes_of, read_ts

SAMPLES = {
    "digits": (8, 8, 1),
    "motion": (1, 100, 6),
    "gesture": (1, 361, 1),
    "vowels": (1, 29, 12),
    "anomaly": (64,),
}
CLASSES = {"digits": 10, "motion": 4, "gesture": 10, "vowels": 9, "anomaly": 64}


def page_rows():
    """Recipe -> bytes, products and arena of its float model, as the page on training has them."""
    text = (ROOT / "docs" / "train.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\w+) \| float \|[^|]+\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", text, re.M
    )
    return {name: [int(n.replace(",", "")) for n in figures] for name, *figures in rows}


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_recipes_network_costs_what_the_page_says(name, tmp_path):
    recipe = RECIPES[name]
    network = recipe.network(np.random.default_rng(0))
    whole = Sequential(**network.layers, **recipe.final.layers)
    graph = optimize(trace(whole, SAMPLES[name], name=name))
    path = tmp_path / "net.tflite"
    save_tflite(schedule(graph), path)
    found = inspect_model(path)
    assert graph.value(graph.outputs[0]).shape == (1, CLASSES[name])
    nbytes, macs, arena = page_rows()[name]
    assert (found.macs, found.arena_bytes) == (macs, arena)
    assert path.stat().st_size == nbytes


def test_every_recipe_prunes_to_a_share():
    assert all(0 < recipe.macs < 1 for recipe in RECIPES.values())
    assert 0 < digits.SMALL_DIGITS.macs < 1


# Data


def test_windows_overlap_and_begin_at_every_second_sample():
    found = windows(np.arange(69.0))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [np.arange(64) + start for start in (0, 2, 4)])


def test_windows_of_blood_pressure_are_scaled_by_those_without_anomaly():
    """Of 1,200 and 6,300 samples; 64 in a window, and the anomaly has 12."""
    data = load_anomaly(0)
    assert len(data.x_train) == (1200 - 64) // 2 + 1
    assert len(data.x_test) == len(data.y_test) == (6300 - 64) // 2 + 1
    assert data.y_train is data.x_train
    whole = np.concatenate([data.x_train[:, :2].ravel(), data.x_train[-1, 2:]])
    assert len(whole) == 1200
    assert (whole.mean(), whole.std()) == pytest.approx((0, 1), abs=1e-4)
    marked = np.flatnonzero(data.y_test)
    assert set(data.y_test) == {0, 1}
    assert len(marked) in (37, 38)
    assert np.ptp(marked) == len(marked) - 1


def test_a_series_is_cut_or_padded_with_zeros():
    (image,) = series.padded([np.array([[1, 2], [3, 4], [5, 6]])], 2)
    assert image.tolist() == [[[1, 2], [3, 4]]]
    (image,) = series.padded([np.array([[1, 2]])], 3)
    assert image.tolist() == [[[1, 2], [0, 0], [0, 0]]]


def test_digits_are_from_zero_to_one_with_their_labels():
    images, labels = digits.load_digits()
    assert (images.min(), images.max(), images.shape) == (0, 1, (1797, 8, 8, 1))
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_half_of_the_digits_are_moved():
    images = np.zeros((4000, 8, 8, 1), np.float32)
    images[:, 3, 3] = 1
    moved = digits.shifted(images, np.random.default_rng(0))
    there = moved[:, 3, 3, 0] == 1
    # A ninth of those that are moved stay where they are.
    assert there.mean() == pytest.approx(0.5 + 0.5 / 9, abs=0.03)
    assert np.all(moved[:, 2:5, 2:5].sum(axis=(1, 2, 3)) == 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1,2:a\n", ["no @data in the file", "expected: a .ts file"]),
        ("@data\n1,two:a\n", [".ts file"]),
        ("@data\n1,2:3:a\n", [".ts file"]),
        ("@data\na\n", [".ts file"]),
    ],
)
def test_a_file_of_another_form_is_named(text, says, tmp_path):
    path = tmp_path / "odd.ts"
    path.write_text(text)
    with pytest.raises(ModelFormatError) as refused:
        read_ts(path)
    for part in (*says, f"file:     {path}"):
        assert part in str(refused.value)


@pytest.mark.parametrize("spec", [None, SimpleNamespace(submodule_search_locations=None)])
def test_series_that_are_not_installed_are_asked_for(spec, monkeypatch):
    monkeypatch.setattr(series, "find_spec", lambda name: spec)
    with pytest.raises(ToolError, match="not installed") as refused:
        series.aeon_file("a", "b.ts")
    assert "pip install 'tinyrt[recipes]'" in str(refused.value)


def test_a_file_that_is_not_there_is_named_where_it_should_be(monkeypatch, tmp_path):
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(series, "find_spec", lambda name: spec)
    path = tmp_path / "datasets" / "data" / "a" / "b.ts"
    with pytest.raises(ToolError, match="lacks a data file") as refused:
        series.aeon_file("a", "b.ts")
    assert str(path) in str(refused.value)
    assert "pip install 'tinyrt[recipes]'" in str(refused.value)
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert series.aeon_file("a", "b.ts") == path


def test_labels_are_places_among_the_names():
    assert classes_of(["b", "a", "b"], ["a", "b"]).tolist() == [1, 0, 1]


def problem(**variation):
    still = {"scale": 0, "noise": 0, "steps": 0}
    return SeriesProblem(
        *("Nothing", 12, 2, 2, {}, Variation(**still | variation)),
        Epochs(59, int8=6, int4=7, healing=8, healing_rate=0.125),
        batch=5,
    )


def test_series_vary_as_the_problem_says():
    rng = np.random.default_rng(0)
    x = np.ones((4000, 1, 12, 2), np.float32)
    np.testing.assert_array_equal(problem().vary(x, rng), x)
    stronger = problem(scale=0.25).vary(x, rng)
    assert np.ptp(stronger, axis=(2, 3)).max() == 0
    assert stronger[:, 0, 0, 0].std() == pytest.approx(0.25, rel=0.05)
    noisy = problem(noise=0.125).vary(x, rng)
    assert noisy.std() == pytest.approx(0.125, rel=0.05)
    later = problem(steps=3).vary(x, rng)
    assert sorted(set((later == 0).sum(axis=(1, 2, 3)) // 2)) == [0, 1, 2, 3]


def test_each_stage_of_a_problem_trains_as_long_as_it_says():
    recipe = problem().recipe("name", "what")
    assert recipe.summary == "what (aeon, Nothing); 1-D CNN"
    found = [getattr(recipe, stage) for stage in ("training", "int8", "int4", "healing")]
    assert [t.epochs for t in found] == [59, 6, 7, 8]
    assert {t.batch for t in found} == {5}
    assert [t.peak_lr for t in found] == [1e-2, 1e-3, 1e-3, 0.125]
    assert Epochs(1, 2, 3, 4).healing_rate == 3e-3
    # A twentieth of 59 epochs, whole: two, of which the first has half the rate.
    assert recipe.training.lr(0, 59) == pytest.approx(recipe.training.peak_lr / 2)
    assert recipe.training.lr(2, 59) == max(recipe.training.lr(i, 59) for i in range(59))
    assert recipe.int8.lr(0, 6) == max(recipe.int8.lr(i, 6) for i in range(6))


def test_rates_rise_to_the_peak_and_fall_to_nothing():
    training = Training(10, 0.5, warmup=2)
    rates = [training.lr(step, 100) for step in range(100)]
    assert rates[20] == max(rates) == pytest.approx(0.5)
    assert rates[9] == pytest.approx(0.25)
    assert rates[60] == pytest.approx(0.25, abs=0.01)
    assert 0 <= rates[99] < 0.001


# Scores


def test_the_greatest_output_is_the_answer():
    data = Dataset(None, None, np.arange(4), np.array([0, 1, 1, 0]))
    outputs = np.array([[2, 1], [0, 5], [3, 2], [1, 0]]).reshape(4, 1, 2)
    assert top1(lambda x: outputs, data) == {"top1": 0.75}


def test_a_detection_is_judged_by_pairs_and_by_a_threshold():
    """Errors of 1 to 200 in training leave a threshold of about 198."""
    errors = np.sqrt(np.arange(1, 201, dtype=np.float64))
    train = np.stack([errors, errors], axis=1)
    test = np.sqrt(np.array([[100, 100], [197, 197], [199, 199], [300, 300], [150, 150.0]]))
    data = Dataset(train, train, test, np.array([0, 0, 0, 1, 1]))
    found = detection(lambda x: 0 * x, data)
    # Of six pairs, those of 150 with 197 and 199 are the wrong way round.
    assert found["auc"] == pytest.approx(4 / 6)
    # 199 is a false alarm, and 150 is missed.
    assert found["top1"] == pytest.approx(3 / 5)


# Stages


@pytest.fixture
def trained():
    return stages.train_float(TINY, seed=1)


def test_what_is_trained_has_one_entry_to_an_epoch(trained):
    assert [epoch.number for epoch in trained.history] == [1, 2, 3]
    assert trained.seed == 1
    np.testing.assert_array_equal(trained.data.x_train, two_classes(1).x_train)


@pytest.mark.parametrize(
    ("epochs", "frozen"), [(1, []), (2, [2]), (3, [3]), (6, [5, 6]), (7, [6, 7]), (8, [6, 7, 8])]
)
def test_the_last_third_of_training_for_int8_is_frozen(epochs, frozen, trained, monkeypatch):
    seen, ended = [], [0]
    monkeypatch.setattr(stages.QatModel, "freeze", lambda model: seen.append(ended[0] + 1))
    stages.train_int8(
        trained,
        training=Training(epochs, 1e-3),
        on_epoch=lambda epoch: ended.__setitem__(0, epoch.number),
    )
    assert seen == frozen


def test_ranges_come_from_the_first_hundred_samples(trained):
    """The sample behind them is far larger."""
    scales = []
    for large in (99, 100):
        x = np.zeros((101, 1, 2, 4), np.float32)
        x[:, 0, 0, 0] = 1
        x[large] = 1000
        data = Dataset(x, np.arange(101) % 2, x, np.arange(101) % 2)
        other = stages.Trained(TINY, data, trained.module, (), 0)
        after_training = next(v for v in stages.variants(other) if v.name == "ptq").graph
        trained_int8 = stages.train_int8(other, training=Training(1, 0.0)).quantizers["input"].q
        scales.append((after_training.value("input").q.scale, trained_int8.scale))
    assert scales[0][0] > 3
    assert scales[1][0] < 0.01
    assert scales[0][1] > 3
    assert scales[1][1] < 3


def wide(rng):
    return Sequential(
        first=Conv2d(4, 12, (1, 1), rng=rng),
        relu=ReLU(),
        second=Conv2d(12, 16, (1, 1), rng=rng),
        relu2=ReLU(),
        flat=Flatten(),
        dense=Linear(32, 2, rng=rng),
    )


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_pruning_leaves_channels_in_fours_and_the_share_of_products(share):
    recipe = replace(TINY, network=wide, macs=share)
    start = stages.train_float(recipe)
    graph = stages.prune(start)
    widths = [graph.value(n.inputs[1]).shape[0] for n in graph.nodes if n.op == "conv2d"]
    assert all(width % 4 == 0 for width in widths)

    def macs(graph):
        return sum(OPS[node.op].macs(node) for node in graph.bound())

    assert macs(graph) <= share * macs(start.graph())


def test_only_recipes_with_classes_have_a_teacher(trained):
    assert stages.teaching(trained) is not None
    untaught = replace(trained, recipe=replace(TINY, distils=False))
    assert stages.teaching(untaught) is None


STAGES = {
    "training": Training(2, 0.5, batch=5),
    "int8": Training(3, 0.25, batch=6),
    "healing": Training(4, 0.125, batch=7),
    "int4": Training(5, 0.0625, batch=8),
}


@pytest.mark.parametrize("shown", [True, False, None])
def test_every_training_of_a_recipe_is_as_it_says_and_shows_its_progress(monkeypatch, shown):
    """The first, those in int8 and in four bits, and the one that heals what was pruned."""
    asked = []

    def fitted(module, optimizer, x, y, config, **options):
        rates = {stage for stage, found in STAGES.items() if options["lr"] == found.lr}
        taught = options["objective"] is not None
        asked.append((config.epochs, config.batch, config.progress, rates, taught))
        assert (options["loss"], options["augment"]) == (recipe.loss, recipe.augment)
        return ()

    monkeypatch.setattr(stages, "fit", fitted)
    recipe = replace(TINY, **STAGES, loss=digits.smoothed, augment=digits.shifted)
    trained = stages.train_float(recipe, progress=shown)
    assert [v.name for v in stages.variants(trained, progress=shown)][-2:] == ["pruned", "int4"]
    names = ("training", "int8", "healing", "int8", "int4")
    assert asked == [
        (STAGES[name].epochs, STAGES[name].batch, shown, {name}, name != "training")
        for name in names
    ]
