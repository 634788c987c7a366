"""Distillation: what the loss is, who may teach, and that a student learns from it."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.graphs import Builder
from tests.train.build import leaf
from tinyrt.api.reading import open_model
from tinyrt.convert.passes import optimize
from tinyrt.errors import DataError
from tinyrt.interpreter.model import Model
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.train import Adam, Tensor, cross_entropy, gradcheck, no_grad, trace
from tinyrt.train.distill import (
    Distillation,
    Features,
    logits_of,
    recording,
    similarity_loss,
    softened,
)
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.nn import Linear, ReLU, Sequential, Softmax
from tinyrt.train.prune import Pruner, Schedule, sparsity_of
from tinyrt.train.qat import QatModel


def mlp(rng, hidden):
    return Sequential(
        hidden=Linear(4, hidden, rng=rng), relu=ReLU(), classifier=Linear(hidden, 3, rng=rng)
    )


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 96)
    x = (rng.normal(size=(96, 4)) + 2 * np.eye(3, 4)[y]).astype(np.float32)
    teacher = mlp(rng, 16)
    train(teacher, x, y)
    return teacher, x, y


def train(net, x, y, epochs=10, **options):
    optimizer = Adam(net.parameters(), 1e-2)
    return fit(net, optimizer, x, y, FitConfig(epochs), rng=np.random.default_rng(1), **options)


def test_the_loss_is_the_published_one(problem):
    teacher, x, y = problem
    student = mlp(np.random.default_rng(1), 2)
    with no_grad():
        ours, theirs = student(Tensor(x)).data, teacher(Tensor(x)).data
    p, q = softened(theirs, 3.0), softened(ours, 3.0)
    soft = 9 * (p * (np.log(p) - np.log(q))).sum() / len(x)
    hard = cross_entropy(Tensor(ours), y).item()
    found = Distillation(teacher, temperature=3.0, weight=0.6)(student, x, y).item()
    assert found == pytest.approx(0.6 * soft + 0.4 * hard, rel=1e-5)


def test_each_of_several_features_counts_with_its_weight(problem):
    teacher, x, y = problem
    student = mlp(np.random.default_rng(1), 16)

    def loss(*features):
        return Distillation(teacher, features=features)(student, x, y).item()

    hidden, scores = Features("hidden", "hidden", 0.5), Features("classifier", "classifier", 2.0)
    of_function = Features("relu", lambda samples: np.ones((len(samples), 16), np.float32), 0.25)
    plain, every = loss(), (hidden, scores, of_function)
    alone = [loss(one) - plain for one in every]
    assert min(alone) > 1e-3
    assert loss(*every) == pytest.approx(plain + sum(alone), rel=1e-5)


def test_a_student_comes_to_answer_as_its_teacher(problem):
    teacher, x, y = problem
    student = mlp(np.random.default_rng(1), 8)
    nonsense = np.zeros_like(y)  # the labels do not count with weight 1
    features = Features("hidden", "hidden", weight=0.5)
    objective = Distillation(teacher, weight=1.0, features=(features,))
    history = train(student, x, nonsense, epochs=40, objective=objective)
    assert history[-1].loss < 0.3 * history[0].loss
    with no_grad():
        agreed = student(Tensor(x)).data.argmax(1) == teacher(Tensor(x)).data.argmax(1)
    assert agreed.mean() > 0.85


def test_models_of_the_interpreter_and_functions_teach_too(problem):
    teacher, x, y = problem
    student = mlp(np.random.default_rng(1), 2)
    deployed = Model(optimize(trace(Sequential(net=teacher, softmax=Softmax()), (4,))))

    def function(samples):
        with no_grad():
            return teacher(Tensor(samples)).data

    losses = [Distillation(t)(student, x, y).item() for t in (teacher, deployed, function)]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-4)
    by_path = Distillation(function, features=(Features("hidden", "hidden"),))
    with pytest.raises(DataError, match="not a module"):
        by_path(student, x, y)
    with pytest.raises(DataError, match=r"no part \['nowhere'\][\s\S]*classifier"):
        Distillation(teacher, features=(Features("nowhere", "hidden"),))(student, x, y)


def test_an_onnx_file_teaches(tmp_path):
    rng = np.random.default_rng(4)
    file = OnnxModel()
    rows = file.op("Gemm", file.input(1, 4), file.weights(4, 3), file.weights(3))
    path = file.save(tmp_path, file.op("Softmax", rows, axis=1))
    teacher = Model(open_model(path))
    student = mlp(rng, 8)
    x = rng.normal(size=(96, 4)).astype(np.float32)
    objective = Distillation(teacher, weight=1.0, temperature=1.0)
    train(student, x, np.zeros(96, int), epochs=40, objective=objective)
    with no_grad():
        agreed = student(Tensor(x)).data.argmax(1) == teacher(x).argmax(1)
    assert agreed.mean() > 0.85


def test_a_softmax_is_undone_behind_what_only_moves_it():
    builder = Builder((1, 3))
    moved = builder.op(
        "reshape", (builder.op("softmax", ("x",), SoftmaxAttrs()),), ReshapeAttrs((1, 3))
    )
    x = np.random.default_rng(5).normal(size=(64, 3)).astype(np.float32)
    graph = builder.graph(moved)
    for teacher in (graph, quantize_graph(graph, x, QuantConfig(float_io=True))):
        model = Model(teacher)
        answers, logits = model(x[:4]), logits_of(model)(x[:4])
        np.testing.assert_allclose(np.exp(logits), answers, rtol=1e-5)
    assert teacher.nodes[-1].op == "dequantize"


def test_similarity_is_blind_to_channels_and_has_a_gradient():
    rng = np.random.default_rng(2)
    features, wanted = leaf(rng, 4, 6), rng.normal(size=(4, 2, 5))
    gradcheck(lambda f: similarity_loss(f, wanted), [features])
    turned = features.data @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    assert similarity_loss(features, turned).item() == pytest.approx(0, abs=1e-12)


def test_a_part_that_is_recorded_already_goes_on_being_so():
    net, x = mlp(np.random.default_rng(1), 2), Tensor(np.ones((1, 4)))
    with recording(net, ["hidden"]) as outer:
        with recording(net, ["hidden"]) as inner:
            net(x)
        assert outer["hidden"] is inner["hidden"]
        net(x)
    assert outer["hidden"] is not inner["hidden"]


def test_one_training_distils_prunes_and_quantises(problem):
    teacher, x, y = problem
    student = mlp(np.random.default_rng(1), 8)
    model = QatModel(optimize(trace(student, (4,))), x)
    objective = Distillation(teacher, features=(Features("hidden", "hidden"),))
    history = train(
        model, x, y, epochs=20, objective=objective, on_step=Pruner(model, Schedule(0.5))
    )
    assert history[-1].loss < 0.5 * history[0].loss
    assert sparsity_of(model) == pytest.approx(0.5, abs=0.02)
    with model.evaluating(), no_grad():
        expected = model(Tensor(x)).data
    np.testing.assert_allclose(Model(model.deployed())(x), expected, rtol=0, atol=1e-6)
