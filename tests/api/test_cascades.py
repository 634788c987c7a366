"""A cascade on this machine, beside its two models one by one."""

from dataclasses import replace

import numpy as np
import pytest

from tests.cascades import CLASSES, dense, int8, pair, scaled, with_exit
from tests.export.models import echo
from tests.graphs import Builder, small_cnn
from tests.quantize.test_mixed import samples
from tinyrt import Cascade, load
from tinyrt.api import split_early_exit
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp.cascade import margins
from tinyrt.emulate import cascade as emulation
from tinyrt.errors import DataError, ToolError, UnsupportedError
from tinyrt.export import ExportOptions
from tinyrt.ir import Node
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.tools import EMULATOR_S


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return pair(tmp_path_factory.mktemp("pair"))


def raw(path, x):
    model = load(path)
    return model.run_raw(model.stored_inputs(x))


def rows(path, x):
    (scores,) = raw(path, x).values()
    return scores


@pytest.mark.parametrize("threshold", [0, 30, 256])
def test_each_sample_has_the_scores_of_the_model_that_answers(threshold, models):
    x = samples(50, 3)
    first, second = (rows(path, x) for path in models)
    cascade = Cascade(*models, threshold=threshold)
    found = cascade.run(x)
    real = cascade.real_scores(found)
    units = [load(path).graph.output_values[0].q for path in models]
    ahead = margins(first)
    for i, scores in enumerate(found.scores):
        stays = ahead[i] >= threshold
        np.testing.assert_array_equal(scores, first[i] if stays else second[i])
        assert found.stages[i] == (0 if stays else 1)
        q = units[found.stages[i]]
        np.testing.assert_allclose(real[i], q.scale * (scores.astype(float) - q.zero_point))
    assert 0 < (ahead >= 30).sum() < 50
    np.testing.assert_array_equal(found.classes, found.scores.argmax(axis=1))


def test_a_choice_is_the_threshold_and_evaluations_count(models, tmp_path):
    x = samples(80, 5)
    y = rows(models[1], x).argmax(axis=1)
    y[:9] = (y[:9] + 1) % CLASSES
    np.savez(tmp_path / "data.npz", x=x, y=y)
    cascade = Cascade(*models)
    assert cascade.threshold == 256
    choice = cascade.choose_threshold(tmp_path / "data.npz")
    assert cascade.threshold == choice.threshold
    assert choice.second_accuracy == pytest.approx(71 / 80)
    assert choice.first_accuracy == pytest.approx((rows(models[0], x).argmax(axis=1) == y).mean())
    found = cascade.evaluate(x, y)
    assert found.correct == sum(cascade.run(x).classes == y) == round(choice.accuracy * 80)
    assert found.left == sum(cascade.run(x).stages == 0) == round(choice.exits * 80)
    assert (found.top1, found.exits) == (found.correct / 80, found.left / 80)
    assert found.as_dict()["exits"] == found.exits
    assert cascade.choose_threshold(x, y, exits=0.5).exits >= 0.5
    assert cascade.choose_threshold(x, y, accuracy=0.2).accuracy >= 0.2
    assert cascade.threshold < choice.threshold


@pytest.mark.parametrize(
    "labels", [None, np.zeros(3, int), np.full(4, 5), np.full(4, -1), [0.0] * 4]
)
def test_labels_are_a_class_for_each_sample(labels, models):
    with pytest.raises(DataError, match=r"there are no labels|labels are") as error:
        Cascade(*models).evaluate(samples(4), labels)
    assert "a class index, 0 to 4, for each of 4 samples" in str(error.value)


def test_the_backend_named_computes(models):
    with pytest.raises(UnsupportedError, match="nobody"):
        Cascade(*models, backend="nobody").run(samples(2))


OPTIONS = ExportOptions(by_rows=True)
ASKED = {
    **{"core": "cortex-m0", "optimize": "size", "board": "a board", "timeout_s": 7.5},
    **{"build_dir": "a folder", "progress": print, "options": OPTIONS},
}
USUAL = {
    **{"core": "cortex-m4", "optimize": "balanced", "board": None, "progress": None},
    **{"options": ExportOptions()},
}


@pytest.mark.parametrize("option", ASKED)
def test_options_of_an_emulation_are_handed_on(option, models, monkeypatch):
    def run(*args, **kwargs):
        asked.append((args, kwargs))
        return "run"

    asked = []
    monkeypatch.setattr(emulation, "run_emulated_cascade", run)
    x, cascade = samples(3), Cascade(*models, threshold=41)
    assert cascade.emulate(x, **{option: ASKED[option]}) == "run"
    ((args, kwargs),) = asked
    assert (args, kwargs["threshold"]) == (models, 41)
    expected = USUAL | {"timeout_s": EMULATOR_S, option: ASKED[option]}
    assert {name: kwargs[name] for name in expected} == expected
    np.testing.assert_array_equal(kwargs["expected"]["scores"], cascade.run(x).scores)
    np.testing.assert_array_equal(kwargs["expected"]["stage"], cascade.run(x).stages)


@pytest.mark.parametrize("option", ["core", "optimize", "options"])
def test_options_of_an_export_are_handed_on(option, models, monkeypatch):
    def write(*args, **kwargs):
        asked.append((args, kwargs))

    asked = []
    monkeypatch.setattr("tinyrt.export.export_cascade", write)
    given = {"core": "cortex-m0", "optimize": "size", "options": ExportOptions(name="eyes")}
    Cascade(*models, threshold=41).export("out", **{option: given[option]})
    usual = {"core": "cortex-m4", "optimize": "balanced", "options": ExportOptions()}
    assert asked == [((*models, "out"), {"threshold": 41, **usual, option: given[option]})]


def test_time_and_progress_reach_the_emulator(models, monkeypatch, tmp_path):
    def boot(image, packed, folder, *, timeout_s, progress):
        assert timeout_s == 12.5
        progress(9 * 2)
        raise ToolError("no machine")

    monkeypatch.setattr(emulation, "boot", boot)
    monkeypatch.setattr(emulation, "build_cascade", lambda *args, **kwargs: None)
    seen = []
    with pytest.raises(ToolError, match="no machine"):
        Cascade(*models).emulate(
            samples(5), timeout_s=12.5, build_dir=tmp_path, progress=lambda *n: seen.append(n)
        )
    assert seen == [(2, 5)]
    assert (tmp_path / "model" / "cascade.h").exists()


def test_no_sample_has_no_answer(models):
    with pytest.raises(DataError):
        Cascade(*models).evaluate(samples(0), np.zeros(0, int))


REFUSED = {
    "another shape": (lambda to: int8(wide(), to / "w.tflite", wide_samples), "model takes"),
    "two outputs": (lambda to: int8(with_exit(), to / "two.tflite"), "have 1 and 2 outputs"),
    "floats": (lambda to: saved(small_cnn(), to), "the second model takes"),
    "other classes": (lambda to: int8(dense(classes=4), to / "o.tflite"), "cannot compare"),
}


def wide():
    b = Builder((1, 8, 8, 4))
    return b.graph(b.op("softmax", ("x",), SoftmaxAttrs()))


def wide_samples(count):
    return np.tile(samples(count)[..., :1], 4)


def test_an_input_at_another_scale_is_converted(models, tmp_path):
    second = scaled(tmp_path)
    x = samples(40, 6)
    q = [read_tflite(path).input_values[0].q for path in (models[0], second)]
    assert q[1].scale > 2 * q[0].scale
    stored = Cascade(*models)._inputs(x).astype(np.float32)
    real = (stored - q[0].zero_point) * np.float32(q[0].scale)
    expected = rows(second, real)
    assert not np.array_equal(expected, rows(second, 3 * real))
    cascade = Cascade(models[0], second)
    np.testing.assert_array_equal(cascade.run(x).scores, expected)
    assert Cascade(*models).joint.table is None


def saved(graph, folder):
    save_tflite(graph, folder / "float.tflite")
    return folder / "float.tflite"


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_do_not_fit(name, models, tmp_path):
    make, problem = REFUSED[name]
    with pytest.raises(UnsupportedError, match=problem):
        Cascade(models[0], make(tmp_path))


def test_float_scores_and_several_inputs_are_refused(models, tmp_path):
    path = saved(small_cnn(), tmp_path)
    with pytest.raises(UnsupportedError, match="cannot compare"):
        Cascade(path, path)
    b = Builder((1, 4), (1, 4))
    graph = b.graph(b.op("maximum", ("x", "x1")))
    save_tflite(graph, tmp_path / "both.tflite")
    with pytest.raises(UnsupportedError, match="2 inputs and 0 states"):
        Cascade(tmp_path / "both.tflite", models[1])
    save_tflite(echo(), tmp_path / "echo.tflite")
    with pytest.raises(UnsupportedError, match="'echo' has 1 inputs and 1 states"):
        Cascade(models[0], tmp_path / "echo.tflite")


@pytest.mark.parametrize("threshold", [-1, 257, 0.5])
def test_thresholds_are_margins(threshold, models):
    with pytest.raises(DataError, match="the option threshold"):
        Cascade(*models, threshold=threshold)


def test_a_network_with_an_exit_is_cut_without_another_number(tmp_path):
    whole = int8(with_exit(), tmp_path / "whole.tflite")
    parts = (tmp_path / "first.tflite", tmp_path / "second.tflite")
    cut = split_early_exit(whole, *parts)
    x = samples(30, 9)
    answers = raw(whole, x)
    leaves, stays = read_tflite(whole).outputs
    nodes = [read_tflite(path).nodes for path in parts]
    assert sum(map(len, nodes)) == len(read_tflite(whole).nodes)
    assert all(len(part) > 2 for part in nodes)
    first, second = (read_tflite(path) for path in parts)
    assert first.outputs == (leaves, cut)
    assert (second.inputs, second.outputs) == ((cut,), (stays,))
    for threshold, output in ((0, leaves), (256, stays)):
        found = Cascade(*parts, threshold=threshold)
        np.testing.assert_array_equal(found.run(x).scores, answers[output])
    mixed = Cascade(*parts, threshold=60).run(x)
    assert 0 < mixed.stages.sum() < 30
    for i, stage in enumerate(mixed.stages):
        np.testing.assert_array_equal(mixed.scores[i], answers[stays if stage else leaves][i])


def test_an_exit_may_be_the_second_output(tmp_path):
    whole = int8(with_exit(final_first=True), tmp_path / "whole.tflite")
    parts = (tmp_path / "first.tflite", tmp_path / "second.tflite")
    stays, leaves = read_tflite(whole).outputs
    split_early_exit(whole, *parts, exit_output=leaves)
    assert read_tflite(parts[1]).outputs == (stays,)


def test_networks_that_cannot_be_cut(tmp_path):
    parts = (tmp_path / "first.tflite", tmp_path / "second.tflite")
    whole = int8(with_exit(), tmp_path / "whole.tflite")
    with pytest.raises(UnsupportedError, match="one of them 'nobody'"):
        split_early_exit(whole, *parts, exit_output="nobody")
    with pytest.raises(UnsupportedError, match="0 states and the outputs softmax"):
        split_early_exit(int8(dense(), tmp_path / "one.tflite"), *parts)
    b = Builder((1, 6))
    apart = b.graph(b.op("logistic", ("x",)), b.op("tanh", ("x",)))
    save_tflite(apart, tmp_path / "apart.tflite")
    with pytest.raises(UnsupportedError, match=r"to the rest: x\n"):
        split_early_exit(tmp_path / "apart.tflite", *parts)
    b = Builder((1, 6))
    y = b.op("logistic", ("x",))
    save_tflite(b.graph(y, b.op("tanh", (y,))), tmp_path / "chain.tflite")
    with pytest.raises(UnsupportedError, match=f"to the rest: {y}\n"):
        split_early_exit(tmp_path / "chain.tflite", *parts)
    b = Builder((1, 6))
    y = b.op("logistic", ("x",))
    both = b.op("maximum", (b.op("tanh", (y,)), "x"))
    save_tflite(b.graph(b.op("abs", (y,)), both), tmp_path / "skip.tflite")
    with pytest.raises(UnsupportedError, match="to the rest: x, "):
        split_early_exit(tmp_path / "skip.tflite", *parts)
    graph = echo()
    more = Node("reshape", "again", ("y",), ("z",), ReshapeAttrs((1, 4)))
    values = graph.values | {"z": replace(graph.value("y"), name="z")}
    graph = replace(graph, outputs=("y", "z", "new"), values=values, nodes=(*graph.nodes, more))
    save_tflite(graph, tmp_path / "echo.tflite")
    with pytest.raises(UnsupportedError, match="1 states and the outputs y, z"):
        split_early_exit(tmp_path / "echo.tflite", *parts)
    assert not any(path.exists() for path in parts)
