"""Teachers of raw samples: what they tell candidates that see features or images of these."""

from dataclasses import replace

import numpy as np
import pytest

from tests.search import raw
from tests.search.made import QUICK
from tinyrt.api.fitting import DeviceBudget
from tinyrt.api.listening import attach_front_end, listen_model
from tinyrt.api.looking import look_model
from tinyrt.api.quantize import quantize_model
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp.windows import features_of, learnt, raw_of
from tinyrt.errors import DataError
from tinyrt.search import Problem, learning, search_networks, seen
from tinyrt.search.candidate import candidate_of
from tinyrt.search.learning import fit_candidate, loss_for, objective_for
from tinyrt.search.order import Order
from tinyrt.search.source import space_source
from tinyrt.search.teacher import Teacher
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.distill import Distillation
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import Flatten, Linear, Sequential, Softmax
from tinyrt.train.tracing import trace

optuna = pytest.importorskip("optuna")


def scoring(shape, classes=3, seed=0):
    """A float model of samples of that shape with random weights."""
    rng = np.random.default_rng(seed)
    out = Linear(int(np.prod(shape)), classes, rng=rng)
    return trace(Sequential(flat=Flatten(), out=out, softmax=Softmax()), shape)


def of(space, problem, **params):
    return candidate_of(space, optuna.trial.FixedTrial(params), problem, 0)


@pytest.fixture(scope="module")
def with_features(tmp_path_factory):
    """A teacher whose file makes features of motion itself."""
    folder = tmp_path_factory.mktemp("teacher")
    problem = raw.problem()
    pipeline = learnt(raw.FRONT, features_of(raw.FRONT, raw_of(problem.x)))
    bare = folder / "bare.tflite"
    save_tflite(optimize(scoring((1, 2, raw.FRONT.features))), bare)
    attach_front_end(bare, pipeline, folder / "teacher.tflite")
    return folder / "teacher.tflite"


def test_a_teacher_of_raw_windows_tells_of_each_sample():
    graph = scoring((64, 2))
    problem = replace(raw.problem(), teacher=Teacher(graph))
    shown, _ = seen.seen(raw.FRONT, problem)
    flat = problem.x.reshape(48, -1)
    weight, bias = (graph.value(n).data for n in ("out.weight", "out.bias"))
    logits = flat @ weight.T + bias
    told = shown.told - shown.told.max(1, keepdims=True)
    wanted = (logits - logits.max(1, keepdims=True)).clip(np.log(1e-9), 0)
    np.testing.assert_allclose(told, wanted, rtol=1e-3, atol=1e-3)
    assert shown.teacher is None
    plain, _ = seen.seen(raw.FRONT, raw.problem())
    np.testing.assert_array_equal(shown.x, plain.x)
    assert plain.told is None


def test_a_teachers_file_makes_features_of_its_own(with_features):
    problem = replace(raw.problem(), teacher=Teacher.of(with_features))
    heard = [listen_model(with_features, raw_of(window)).outputs for window in problem.x]
    wanted = np.concatenate([next(iter(each.values())).reshape(1, -1) for each in heard])
    for front_end in (raw.FRONT, replace(raw.FRONT, peaks=1), None):
        shown, _ = seen.seen(front_end, problem)
        np.testing.assert_allclose(np.exp(shown.told), wanted, rtol=1e-4, atol=1e-6)
        assert shown.teacher is None
    assert shown.x is problem.x, "without a front end candidates see the samples"


def test_a_camera_teaches_other_cameras(tmp_path):
    problem, bare = Problem.of(raw.frames()), tmp_path / "float.tflite"
    shown, vision = seen.seen(raw.EYES, problem)
    save_tflite(optimize(scoring((6, 8, 1))), bare)
    quantize_model(bare, shown.x, tmp_path / "int8.tflite")
    attach_front_end(tmp_path / "int8.tflite", vision, tmp_path / "teacher.tflite")
    taught = replace(problem, teacher=Teacher.of(tmp_path / "teacher.tflite"))
    other, _ = seen.seen(replace(raw.EYES, channels=3), taught)
    (wanted,) = look_model(tmp_path / "teacher.tflite", problem.x).outputs.values()
    np.testing.assert_allclose(np.exp(other.told), wanted.reshape(48, 3).clip(1e-9), rtol=1e-6)
    assert other.x.shape == (48, 6, 8, 3)
    swapped = {**raw.frames(), "pixels": np.array("rgb565_swapped")}
    with pytest.raises(DataError) as error:
        Problem.of(swapped, teacher=Teacher.of(tmp_path / "teacher.tflite"))
    assert error.value.problem == "the teacher's camera has frames of 16 x 12 pixels of rgb565"


def test_training_brings_down_the_distance_from_what_was_told():
    problem = replace(raw.problem(), teacher=Teacher(scoring((64, 2))))
    shown, _ = seen.seen(raw.FRONT, problem)
    candidate = of(raw.features, problem, bands=2)
    places = np.array([5, 3, 40, 11])
    x, y = shown.x[places], shown.y[places]
    with candidate.network.evaluating():
        found = objective_for(candidate, shown)(candidate.network, x, places)
        told = Distillation(lambda _: shown.told[places], loss=cross_entropy)
        wanted = told(candidate.network, x, y)
        alone = loss_for(shown)(candidate.network(Tensor(x)), y)
    assert found.data == wanted.data != alone.data


def test_samples_are_taught_by_their_own_answers(monkeypatch, tmp_path):
    """Each sample of a batch meets its label and what was told of it, whatever their order."""
    problem = replace(raw.problem(), teacher=Teacher(scoring((64, 2))))
    shown, _ = seen.seen(raw.FRONT, problem)
    order = Order(space_source(raw.features), {"bands": 2}, 0, "m4", 2, 1)
    met = []

    class Listening(Distillation):
        def __call__(self, student, samples, labels):
            met.extend(zip(samples.copy(), labels, self.teacher(samples), strict=True))
            return super().__call__(student, samples, labels)

    monkeypatch.setattr(learning, "Distillation", Listening)
    fit_candidate(order.candidate(problem), order, 2, shown, tmp_path / "state.npz")
    assert len(met) == 2 * len(shown.parts[0])
    for x, y, told in met:
        (place,) = np.flatnonzero((shown.x == x).all((1, 2, 3)))
        assert place in shown.parts[0]
        assert y == shown.y[place]
        np.testing.assert_array_equal(told, shown.told[place])


def test_a_teacher_answers_once_for_all_front_ends(monkeypatch):
    asked, teacher = [], Teacher(scoring((64, 2), seed=7))
    answer = Teacher.logits
    monkeypatch.setattr(Teacher, "logits", lambda self, x: (asked.append(1), answer(self, x))[1])
    problem = replace(raw.problem(), teacher=teacher)
    for front_end in (raw.FRONT, replace(raw.FRONT, peaks=2), replace(raw.FRONT, log_shift=2)):
        for fold in (0, 1):
            seen.seen(front_end, replace(problem, fold=fold))
    assert len(asked) == 1
    other = replace(problem, x=problem.x[::-1].copy())
    shown, _ = seen.seen(raw.FRONT, other)
    assert len(asked) == 2
    np.testing.assert_array_equal(shown.told, answer(teacher, other.x))
    seen.seen(raw.FRONT, replace(other, teacher=Teacher(scoring((64, 2), seed=8))))
    assert len(asked) == 3


@pytest.mark.whole
def test_a_search_behind_front_ends_is_taught(tmp_path):
    """Half of the labels are wrong; the teacher, who knows how much samples move, is not."""
    data, test = raw.windows(n=120), raw.windows(n=90, seed=5)
    wrong = np.random.default_rng(1).random(120) < 0.6
    learnt_from = {**data, "y": np.where(wrong, (data["y"] + 1) % 3, data["y"])}
    setting = replace(QUICK, budget=DeviceBudget(arena=4_096), trials=1, epochs=20)
    teacher = trained_teacher(data, tmp_path / "teacher.tflite")
    right = {}
    for name, given in (("alone", None), ("taught", teacher)):
        found = search_networks(
            raw.features, learnt_from, tmp_path / name, setting, teacher=given, test=test
        )
        right[name] = found.front[0].test
    assert right["taught"] > right["alone"] + 0.2


def trained_teacher(data, path):
    """What a search with the right labels has found: its file makes features itself."""
    setting = replace(QUICK, budget=DeviceBudget(arena=4_096), trials=1, epochs=20)
    return search_networks(raw.features, data, path.parent / "first", setting).front[0].model


def test_teachers_of_other_samples(with_features, tmp_path):
    with pytest.raises(DataError) as error:
        Problem.of(raw.windows(), teacher=scoring((63, 2)))
    assert error.value.problem.startswith("the teacher takes 'input' f32[1,63,2] and gives ")
    assert error.value.expected == "samples [64, 2], and scores of 3 classes"
    longer = {**raw.windows(), "x": np.tile(raw.windows()["x"], (1, 2, 1))}
    with pytest.raises(DataError) as error:
        Problem.of(longer, teacher=Teacher.of(with_features))
    size = raw.FRONT.features
    assert error.value.expected == (
        f"samples [1, 4, {size}], as its front end makes them of one, and scores of 3 classes"
    )
    assert error.value.file == str(with_features)
    other = {**raw.windows(), "x": raw.windows()["x"][..., :1]}
    with pytest.raises(DataError) as error:
        Problem.of(other, teacher=Teacher.of(with_features))
    assert error.value.problem == (
        "the teacher's front end takes no such samples: windows of samples are [64, 1]"
    )
    assert error.value.expected == "(samples, 2), as the front end has axes"
    with pytest.raises(DataError) as error:
        Problem.of({**raw.windows(), "rate": 25}, teacher=Teacher.of(with_features))
    assert error.value.problem == "the teacher's front end takes 50 samples a second"
    assert error.value.expected == "25, as the data have"
    bare = {name: a for name, a in raw.windows().items() if name != "rate"}
    assert Problem.of(bare, teacher=Teacher.of(with_features)).rate is None
