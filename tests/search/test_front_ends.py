"""Front ends as a choice: what a network sees, what it costs, and what the files answer."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.search import raw
from tests.search.made import QUICK
from tinyrt.api.emulating import emulate_recording
from tinyrt.api.fitting import DeviceBudget
from tinyrt.api.listening import listen_model
from tinyrt.attached import front_end_of
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import LogMelStream, Motion, MotionStream
from tinyrt.dsp.windows import features_of, raw_of, shape_behind
from tinyrt.errors import DataError, ShapeError
from tinyrt.search import Problem, View, checks, search_networks, seen, work
from tinyrt.search.checks import Checks
from tinyrt.search.order import Order
from tinyrt.search.source import space_source

FRONT, HEARD = raw.FRONT, raw.HEARD


def test_features_are_those_of_each_window_from_a_new_beginning():
    x = raw.windows()["x"]
    found = features_of(FRONT, x)
    assert found.shape == (48, 2, FRONT.features)
    for window, rows in zip(x, found, strict=True):
        np.testing.assert_array_equal(rows, MotionStream(FRONT).push(window))
    lapped = replace(FRONT, step=8)
    assert features_of(lapped, x).shape == (48, 5, FRONT.features)
    np.testing.assert_array_equal(features_of(lapped, x)[7], MotionStream(lapped).push(x[7]))
    x = raw_of(raw.sounds().x)
    np.testing.assert_array_equal(features_of(HEARD, x)[5], LogMelStream(HEARD).push(x[5]))


def test_a_network_sees_features_in_units_of_training():
    problem = raw.problem()
    shown, pipeline = seen.seen(FRONT, problem)
    rows, training = features_of(FRONT, raw_of(problem.x)), problem.parts[0]
    taught = rows[training].reshape(-1, FRONT.features).astype(float)
    assert pipeline.motion == FRONT
    np.testing.assert_array_equal(pipeline.offset, np.rint(taught.mean(0)))
    np.testing.assert_allclose(pipeline.scale, 1 / np.maximum(taught.std(0), 1))
    x = ((rows - pipeline.offset) * np.array(pipeline.scale)).clip(-4, 4)
    np.testing.assert_allclose(shown.x, x.reshape(48, 1, 2, -1), rtol=1e-6)
    assert np.array_equal(shown.y, problem.y)
    assert all(np.array_equal(*p) for p in zip(shown.parts, problem.parts, strict=True))
    assert shown.rate is None, "they are no samples any more"
    assert problem.behind(FRONT) == View((1, 2, FRONT.features), 3, has_classes=True)
    assert problem.behind(None) == View((64, 2), 3, has_classes=True)


def test_features_far_from_the_mean_end_at_four_deviations():
    problem = raw.problem()
    x = problem.x.copy()
    x[problem.parts[1][0]] = 32_000 * (-1) ** np.arange(64)[:, None]
    shown, pipeline = seen.seen(FRONT, replace(problem, x=x))
    assert np.abs(shown.x).max() == 4
    still = replace(problem, x=np.zeros_like(x))
    shown, pipeline = seen.seen(FRONT, still)
    assert set(pipeline.scale) == {1.0}, "of what never changes"
    assert not shown.x.any()


def test_features_are_computed_once(monkeypatch):
    problem, asked = Problem.of(raw.windows(seed=3)), []
    compute = features_of
    monkeypatch.setattr(seen, "features_of", lambda *a: (asked.append(a[0]), compute(*a))[1])
    first = seen.seen(FRONT, problem)
    assert seen.seen(Motion(2, 50, 32, 32, edges=(1, 6, 24), peaks=0), problem) is first
    assert len(asked) == 1
    seen.seen(FRONT, Problem.of(raw.windows(seed=4)))
    seen.seen(replace(FRONT, peaks=1), problem)
    assert len(asked) == 3
    for peaks in range(seen.KEPT):
        seen.seen(replace(FRONT, peaks=peaks % 9, log_shift=peaks % 5), problem)
    assert len(seen._kept) == seen.KEPT
    x, pipeline = seen.calibrating(FRONT, problem)
    assert (x.shape, pipeline.motion) == ((len(problem.parts[0]), 1, 2, FRONT.features), FRONT)
    assert seen.calibrating(None, problem)[0].shape == (len(problem.parts[0]), 64, 2)


def test_what_was_asked_for_last_is_kept():
    made, kept = [], seen._Kept(2)
    for key in "abacab":
        assert kept.get(key, lambda key=key: made.append(key) or key) == key
    assert made == ["a", "b", "c", "b"]


def test_an_autoencoder_gives_features_back():
    problem = Problem.of({"x": raw.windows()["x"]})
    shown, pipeline = seen.seen(FRONT, problem)
    assert shown.y is shown.x
    assert problem.behind(FRONT).outputs == 2 * FRONT.features
    np.testing.assert_array_equal(seen.wanted(pipeline, problem), shown.x)
    assert seen.wanted(None, problem) is problem.x


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    setting = replace(QUICK, budget=DeviceBudget(arena=4_096), trials=2, epochs=9)
    return search_networks(raw.features, raw.windows(), folder, setting, test=raw.windows(seed=5))


def test_files_carry_the_front_end_and_answer_to_raw_samples(found):
    problem = raw.problem()
    for point in found.front:
        assert front_end_of(point.model) == point.front_end
        assert point.front_end.motion.bands == point.params["bands"]
        assert json.loads(json.dumps(point.as_dict()))["front_end"] == point.front_end.as_dict()
        assert (point.project / "model_samples.c").exists()
        for data, said in ((raw.windows(seed=5), point.test), (None, point.score)):
            x = data["x"] if data else raw_of(problem.x[problem.parts[1]])
            y = data["y"] if data else problem.y[problem.parts[1]]
            heard = [next(iter(listen_model(point.model, window).outputs.values())) for window in x]
            assert all(len(answers) == 1 for answers in heard)
            right = np.concatenate(heard).reshape(len(y), -1).argmax(1) == y
            assert said == pytest.approx(right.mean())
        assert point.score > 0.5


def test_a_score_is_of_the_files_answers_to_raw_samples(monkeypatch):
    problem, asked = raw.problem(), []
    order = Order(space_source(raw.features), {"bands": 1}, 0, "m4", 1, 1)
    held = problem.parts[1]

    def answer(path, x):
        asked.append(front_end_of(path).motion.bands)
        np.testing.assert_array_equal(x, problem.x[held])
        return np.eye(3)[(problem.y[held] + (np.arange(len(held)) == 0)) % 3]

    state = work.train(order, 1, None, problem).state
    monkeypatch.setattr(work, "answers_of", answer)
    assert work.deploy(order, state, problem).verdict.score == 1 - 1 / len(held)
    assert asked == [1]


def test_costs_are_counted_on_samples_of_training(monkeypatch):
    problem, asked = raw.problem(), []
    order = Order(space_source(raw.features), {"bands": 1}, 0, "m4", 1, 1)
    monkeypatch.setattr(work, "cost", lambda graph, core, **more: asked.append(more))
    work.outlined(order, problem)
    ((front_end, recording),) = [(more["front_end"], more["recording"]) for more in asked]
    assert front_end.motion.bands == 1
    rows = np.sort(problem.parts[0])[:3]
    np.testing.assert_array_equal(recording, problem.x[rows].reshape(-1, 2))


def test_the_arena_has_the_state_of_the_front_end(found):
    from tinyrt.api.costs import cost

    point = found.front[-1]
    alone = cost(read_tflite(point.model))
    assert point.costs["arena"] == cost(point.model, front_end=point.front_end).arena > alone.arena


@pytest.mark.device
def test_a_recording_of_the_samples_is_emulated(found, monkeypatch):
    point, test, asked = found.front[0], Problem.of(raw.windows(seed=5)), []

    def run(model, recording, **options):
        asked.append((model, recording, options))
        return emulate_recording(model, recording, **options)

    monkeypatch.setattr(checks, "emulate_recording", run)
    emulated = Checks(raw.problem(), test, emulate=3).emulated(point.model, "cortex-m4")
    assert (emulated.samples, emulated.agrees) == (3, True)
    assert emulated.instructions > 5_000
    ((model, recording, options),) = asked
    np.testing.assert_array_equal(recording, raw.windows(seed=5)["x"][:3].reshape(-1, 2))
    assert (model, options["core"]) == (point.model, "cortex-m4")


WRONG = {
    "windows of samples are [64, 3]": (FRONT, (64, 3)),
    "windows of samples are [64]": (FRONT, (64,)),
    "windows have 31 samples": (FRONT, (31, 2)),
    "windows of samples are [400, 1]": (HEARD, (400, 1)),
}


@pytest.mark.parametrize("said", WRONG)
def test_windows_that_a_front_end_does_not_take(said):
    with pytest.raises(ShapeError) as error:
        shape_behind(*WRONG[said])
    assert error.value.problem == said
    assert shape_behind(FRONT, (32, 2)) == (1, 1, FRONT.features)
    assert shape_behind(HEARD, (400,)) == (3, 8, 1)


@pytest.mark.parametrize("value", [0.5, 32_768, -32_769])
def test_what_is_no_sample_of_16_bits(value):
    with pytest.raises(DataError, match=r"samples from .* are no integers of 16 bits"):
        raw_of(np.float32([[1, value]]))
    assert raw_of(np.float32([32_767, -32_768])).tolist() == [32_767, -32_768]


def test_the_rate_of_samples_is_a_number():
    of = raw.windows()
    assert Problem.of(of).rate == 50
    assert Problem.of({**of, "rate": 51}).digest != Problem.of(of).digest
    for rate in (0, -1, np.inf):
        with pytest.raises(DataError, match="samples in a second"):
            Problem.of({**of, "rate": rate})
    for rate in ([1, 2], "fast"):
        with pytest.raises(DataError, match="the rate is"):
            Problem.of({**of, "rate": rate})
