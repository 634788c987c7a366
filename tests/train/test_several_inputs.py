"""Modules of several inputs and outputs: called, traced, fitted, taught, and trained for int8."""

import numpy as np
import pytest

from tinyrt.convert.passes import optimize
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.train import Adam, Tensor, apply, cross_entropy, trace
from tinyrt.train.distill import Distillation
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.functional import cat
from tinyrt.train.losses import mse_loss
from tinyrt.train.nn import Linear, Module, Parameter, ReLU
from tinyrt.train.qat import QatModel


class TwoSensors(Module):
    """A class from both sensors, and a value from the second one."""

    def __init__(self, rng, heads=2):
        self.first, self.second = Linear(4, 8, rng=rng), Linear(3, 8, rng=rng)
        self.relu, self.classes = ReLU(), Linear(16, 3, rng=rng)
        self.value, self.heads = Linear(8, 1, rng=rng), heads

    def forward(self, x, z):
        behind = self.relu(self.second(z))
        scores = self.classes(cat([self.relu(self.first(x)), behind], 1))
        return (scores, self.value(behind)) if self.heads == 2 else scores


def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    x = (rng.normal(size=(120, 4)) + (y == 0)[:, None] * 3).astype(np.float32)
    z = (rng.normal(size=(120, 3)) + (y == 1)[:, None] * 3).astype(np.float32)
    return (x, z), (y, z.sum(1, keepdims=True))


def both_losses(answers, labels):
    (scores, value), (classes, sums) = answers, labels
    return cross_entropy(scores, classes) + mse_loss(value, sums) * 0.1


def fitted(module, epochs=12, rate=1e-2, **options):
    inputs, labels = problem()
    options.setdefault("loss", both_losses)
    optimizer = Adam(module.parameters(), rate)
    rng = np.random.default_rng(1)
    return fit(module, optimizer, inputs, labels, FitConfig(epochs, 16), rng=rng, **options)


def share_right(scores):
    return np.mean(scores.argmax(1) == problem()[1][0])


def test_several_inputs_and_outputs_are_fitted_traced_and_deployed():
    net = TwoSensors(np.random.default_rng(2))
    history = fitted(net)
    assert history[-1].loss < history[0].loss / 3
    (x, z), (_, sums) = problem()
    graph = trace(net, {"touch": (4,), "sound": (3,)})
    assert graph.inputs == ("touch", "sound")
    scores, value = Model(graph).run({"touch": x, "sound": z}).values()
    expected = net(Tensor(x), Tensor(z))
    np.testing.assert_allclose(scores, expected[0].data, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(value, expected[1].data, rtol=1e-5, atol=1e-5)
    assert share_right(scores) > 0.9
    assert np.square(value - sums).mean() < sums.var() / 4

    model = QatModel(optimize(graph), {"touch": x, "sound": z})
    fitted(model, epochs=2, rate=1e-3)
    model.eval()
    trained = model(Tensor(x), Tensor(z))
    deployed = Model(model.deployed()).run({"touch": x, "sound": z})
    for one, other in zip(trained, deployed.values(), strict=True):
        np.testing.assert_allclose(other, one.data, atol=1e-6)
    assert share_right(trained[0].data) > 0.9


def test_a_teacher_sees_both_inputs():
    teacher, student = (TwoSensors(np.random.default_rng(i), heads=1) for i in (3, 4))
    fitted(teacher, loss=lambda scores, labels: cross_entropy(scores, labels[0]))
    (x, z), _ = problem()
    graph = trace(teacher, {"x": (4,), "z": (3,)})
    losses = []
    for source in (teacher, Model(graph)):
        objective = Distillation(source, weight=1.0)
        losses.append(objective(student, (x, z), problem()[1][0]).item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    fitted(student, objective=Distillation(teacher, weight=1.0))
    assert objective(student, (x, z), problem()[1][0]).item() < losses[0] / 3
    assert share_right(student(Tensor(x), Tensor(z)).data) > 0.9


class Gesture(Module):
    """A row of a table, by its place, times the other input."""

    def __init__(self):
        self.table = Parameter(np.arange(8, dtype=np.float32).reshape(4, 2))

    def forward(self, place, x):
        return apply("embedding", EmbeddingAttrs(), self.table, place)[:, 0] * x


def test_inputs_have_dtypes_by_name():
    graph = trace(Gesture(), {"place": (1,), "x": (2,)}, dtype={"place": np.int32})
    assert [v.dtype for v in graph.input_values] == [DType.INT32, DType.FLOAT32]
    found = Model(graph).run({"place": np.array([[3]], np.int32), "x": np.ones((1, 2), "f4") * 2})
    np.testing.assert_array_equal(*found.values(), [[12, 14]])
    with pytest.raises(DataError, match="no input 'plaice'"):
        trace(Gesture(), {"place": (1,), "x": (2,)}, dtype={"plaice": np.int32})


def test_one_output_twice_is_refused():
    class Twice(Module):
        def forward(self, x, z):
            y = x + z
            return y, y

    with pytest.raises(UnsupportedError, match="gives 2 outputs: add, add"):
        trace(Twice(), {"x": (4,), "z": (4,)})


def test_a_stream_gives_several_inputs_and_outputs():
    net, ((x, z), (y, sums)) = TwoSensors(np.random.default_rng(2)), problem()
    expected = both_losses(net(Tensor(x), Tensor(z)), (y, sums)).item()
    batch = (x.tolist(), z.tolist()), (y.tolist(), sums.tolist())
    optimizer, rng = Adam(net.parameters(), 0.0), np.random.default_rng(1)
    (epoch,) = fit(net, optimizer, [batch], None, FitConfig(1), rng=rng, loss=both_losses)
    assert epoch.loss == pytest.approx(expected, rel=1e-5)


def test_a_tuple_of_arrays_has_one_number_of_samples():
    (x, z), (y, sums) = problem()
    net = TwoSensors(np.random.default_rng(2))
    for inputs, labels, said in (
        ((x, z[1:]), (y, sums), "120 and 119 samples, but 120 and 120 labels"),
        ((x, z), y[1:], "120 and 120 samples, but 119 labels"),
    ):
        with pytest.raises(DataError, match=said):
            fit(
                net,
                Adam(net.parameters()),
                inputs,
                labels,
                FitConfig(1),
                rng=np.random.default_rng(0),
            )
