"""Candidates that learn from a large model's answers, and by losses of their own."""

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.graphs import Builder
from tests.sampling import sampled
from tests.search.made import QUICK, blobs, dense
from tinyrt.api.fitting import DeviceBudget
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError
from tinyrt.interpreter.model import Model
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.search import Problem, SearchSetting, remembered, search_networks
from tinyrt.search.candidate import Candidate, candidate_of
from tinyrt.search.learning import loss_for, objective_for
from tinyrt.search.remembered import Remembered
from tinyrt.search.teacher import Teacher
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.distill import Distillation, logits_of
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import Linear, Sequential, Softmax
from tinyrt.train.tracing import trace

optuna = pytest.importorskip("optuna")


def knowing(outputs=3, inputs=12):
    """A model that knows the centres of the classes of ``blobs``."""
    data = blobs(n=3000)
    centres = np.stack([data["x"][data["y"] == c].mean(0) for c in range(3)])
    out = Linear(inputs, outputs, rng=np.random.default_rng(0))
    if (outputs, inputs) == (3, 12):
        out.weight.data = centres.astype(np.float32)
        out.bias.data = (-(centres**2).sum(1) / 2).astype(np.float32)
    return trace(Sequential(out=out, softmax=Softmax()), (inputs,))


def of(problem, width=32):
    trial = optuna.trial.FixedTrial({"width": width, "rate": 0.02})
    return candidate_of(dense, trial, problem, 0)


def test_training_brings_down_the_distance_from_the_teacher_and_the_loss():
    plain = Problem.of(blobs())
    taught = replace(plain, teacher=Teacher(knowing()))
    x, y = plain.x[:16], plain.y[:16]
    candidate = of(plain)
    network = candidate.network.evaluating
    with network():
        found = objective_for(candidate, taught)(candidate.network, x, y)
        wanted = Distillation(Model(knowing()), loss=cross_entropy)(candidate.network, x, y)
        alone = objective_for(candidate, plain)(candidate.network, x, y)
        loss = loss_for(plain)(candidate.network(Tensor(x)), y)
    assert found.data == wanted.data
    assert alone.data == loss.data != found.data


def test_a_loss_of_its_own_counts_beside_a_teacher():
    def doubled(outputs, labels):
        return cross_entropy(outputs, labels) * 2

    plain = Problem.of(blobs())
    x, y, candidate = plain.x[:16], plain.y[:16], replace(of(plain), loss=doubled)
    with candidate.network.evaluating():
        taught = replace(plain, teacher=Teacher(knowing()))
        found = objective_for(candidate, taught)(candidate.network, x, y)
        wanted = Distillation(Model(knowing()), loss=doubled)(candidate.network, x, y)
    assert found.data == wanted.data


def test_a_teacher_may_be_in_a_file_of_onnx(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Gemm", m.input(1, 12), m.weights(12, 3), m.weights(3)))
    teacher = Teacher.of(path)
    teacher.require((12,), 3)
    assert (teacher.front_end, teacher.file) == (None, str(path))


def test_a_teacher_answers_each_sample_once(monkeypatch):
    graph, asked = knowing(), []
    run = Model.run

    def counted(model, x):
        asked.append(len(x))
        return run(model, x)

    monkeypatch.setattr(Model, "run", counted)
    known, x = Remembered(Teacher(graph)), Problem.of(blobs()).x
    np.testing.assert_array_equal(known(x[:10]), logits_of(Model(graph))(x[:10]))
    twice = x[[3, 12, 3, 11, 12]]
    np.testing.assert_array_equal(known(twice), logits_of(Model(graph))(twice))
    assert asked == [10, 10, 2, 5], "of the second batch two are new"
    np.testing.assert_array_equal(known(x[[12, 0]]), logits_of(Model(graph))(x[[12, 0]]))
    assert asked[4:] == [2], "nobody but the one beside it"


def test_samples_that_differ_in_one_place_have_answers_of_their_own():
    """Wherever that is, and by however little."""
    graph = knowing()
    known, x = Remembered(Teacher(graph)), np.repeat(Problem.of(blobs()).x[:1], 13, axis=0)
    for i in range(12):
        x[1 + i, i] = np.nextafter(x[0, i], np.float32(99))
    x[1:, :] += 8 * (x[1:, :] - x[:1, :])
    assert len(known(x)) == len(known._known) == 13
    np.testing.assert_array_equal(known(x), logits_of(Model(graph))(x))


def test_what_is_remembered_of_a_teacher_has_an_end(monkeypatch):
    monkeypatch.setattr(remembered, "MOST", 4)
    known, x = Remembered(Teacher(knowing())), Problem.of(blobs()).x
    for start in (0, 3, 6):
        known(x[start : start + 3])
    assert len(known._known) == 4
    np.testing.assert_array_equal(known(x[:9]), logits_of(Model(known.teacher.graph))(x[:9]))


def test_a_process_remembers_one_teacher():
    one, other = Teacher(knowing()), Teacher(knowing())
    of = remembered.remembered
    first = of(one)
    assert of(one) is first
    assert of(other) is not first
    assert of(one) is not first


def test_a_loss_of_its_own_takes_the_place_of_cross_entropy():
    def doubled(outputs, labels):
        return cross_entropy(outputs, labels) * 2

    problem = Problem.of(blobs())
    candidate = replace(of(problem), loss=doubled)
    x, y = problem.x[:16], problem.y[:16]
    with candidate.network.evaluating():
        own = objective_for(candidate, problem)(candidate.network, x, y)
        usual = objective_for(of(problem), problem)(candidate.network, x, y)
    assert own.data == 2 * usual.data
    assert Candidate(candidate.network).loss is None


@pytest.mark.whole
def test_who_is_taught_learns_more_from_wrong_labels(tmp_path):
    """Half of the labels are wrong; the teacher is not."""
    data = blobs(n=240)
    wrong = np.random.default_rng(1).random(240) < 0.5
    learnt = {**data, "y": np.where(wrong, (data["y"] + 1) % 3, data["y"])}
    path = tmp_path / "teacher.tflite"
    save_tflite(knowing(), path)
    setting = SearchSetting(DeviceBudget(arena=200), trials=sampled(1, 2), epochs=9, int8_epochs=1)
    right = {}
    for name, teacher in (("alone", None), ("taught", path)):
        found = search_networks(dense, learnt, tmp_path / name, setting, teacher=teacher, test=data)
        right[name] = max(point.test for point in found.front)
    assert right["taught"] > right["alone"] + 0.05


def test_a_graph_teaches_as_its_file_does(tmp_path):
    path = tmp_path / "teacher.tflite"
    save_tflite(knowing(), path)
    graph, x = knowing(), Problem.of(blobs()).x[:8]
    of_graph, of_file = Teacher.of(graph), Teacher.of(path)
    assert (of_graph.graph, of_graph.front_end, of_graph.file) == (graph, None, None)
    answers = (Model(teacher.graph)(x) for teacher in (of_graph, of_file))
    np.testing.assert_array_equal(*answers)


def test_a_study_remembers_its_teacher():
    plain, other = Problem.of(blobs()), knowing()
    other.values["out.weight"].data.flags.writeable = True
    other.values["out.weight"].data[0, 0] += 1
    teachers = (Teacher(graph) for graph in (knowing(), knowing(), other))
    digests = {replace(plain, teacher=t).digest for t in (None, *teachers)}
    assert len(digests) == 3


@pytest.mark.parametrize(("outputs", "inputs"), [(4, 12), (3, 11)])
def test_a_teacher_of_something_else_is_refused(outputs, inputs, tmp_path):
    path = tmp_path / "teacher.tflite"
    save_tflite(knowing(outputs, inputs), path)
    with pytest.raises(DataError) as error:
        search_networks(dense, blobs(), tmp_path / "found", QUICK, teacher=path)
    assert error.value.problem.startswith("the teacher takes 'input' f32[1,")
    assert f"[1,{outputs}]" in error.value.problem
    assert error.value.expected == "samples [12], and scores of 3 classes"
    assert error.value.file == str(path)


def test_values_have_no_teacher():
    data = blobs()
    with pytest.raises(DataError) as error:
        Problem.of({"x": data["x"], "y": data["x"][:, :3]}, teacher=knowing())
    assert error.value.problem == "labels are float32[90, 3], and there is a teacher"
    assert error.value.expected == "labels that are classes, whose scores it gives"
    assert error.value.hint == "leave out --teacher"


@pytest.mark.parametrize("window", [(3, 4), (4, 3, 1), (12, 1)])
def test_a_teacher_of_samples_that_lie_otherwise_is_refused(window):
    """As many numbers are not the same samples."""
    Teacher(knowing()).require((12,), 3)
    with pytest.raises(DataError, match="the teacher takes"):
        Teacher(knowing()).require(window, 3)


def test_a_teacher_of_several_inputs_is_refused():
    b = Builder((1, 12), (1, 12))
    graph = b.graph(b.op("softmax", (b.op("add", ("x", "x1"), AddAttrs()),), SoftmaxAttrs()))
    with pytest.raises(DataError, match="the teacher takes"):
        Teacher(graph).require((12,), 12)
