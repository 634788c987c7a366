"""The traced graph computes what the deployed module computes, under readable names."""

import numpy as np
import pytest

from tests.train.test_layers import LAYERS as MORE_LAYERS
from tests.train.test_nn import LAYERS, Residual
from tinyrt.errors import DataError, ShapeError, UnsupportedError
from tinyrt.ir import Stage
from tinyrt.ops import verify
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.train import CustomFunction, Tensor, no_grad, trace
from tinyrt.train.nn import BatchNorm, Conv2d, Linear, Module, ReLU, Sequential


def assert_same(module, graph, x):
    with module.evaluating(), no_grad():
        expected = module(Tensor(x)).data
    (found,) = evaluate(graph, {"input": x}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


ALL_LAYERS = LAYERS | MORE_LAYERS


@pytest.mark.parametrize(("make", "shape", "out"), ALL_LAYERS.values(), ids=ALL_LAYERS)
def test_every_layer_traces_to_what_it_computes(make, shape, out):
    rng = np.random.default_rng(8)
    module = make(rng)
    for _ in range(3):
        module(Tensor(rng.normal(1, 2, shape).astype(np.float32)))
    graph = verify(trace(module, shape[1:]), Stage.FLOAT)
    assert graph.output_values[0].shape == (1, *out[1:])
    assert_same(module, graph, rng.normal(size=(1, *shape[1:])).astype(np.float32))
    assert_same(module, rebatch(graph, 3), rng.normal(size=(3, *shape[1:])).astype(np.float32))


def test_nodes_and_constants_are_named_by_the_module():
    module = Sequential(Residual(np.random.default_rng(9)), ReLU(), ReLU())
    graph = trace(module, (3, 3, 2), name="block")
    assert graph.name == "block"
    assert [n.name for n in graph.nodes] == [
        "0.body.conv",
        "0.body.norm",
        "0.mul",
        "0.add",
        "1",
        "2",
    ]
    constants = {k for k, v in graph.values.items() if v.is_constant}
    assert constants == set(module.state_dict())
    assert_same(module, graph, np.ones((1, 3, 3, 2), np.float32))


def test_tracing_leaves_the_module_as_it_was():
    module = Sequential(BatchNorm(2))
    before = module.state_dict()
    graph = trace(module, (4, 4, 2))
    assert module.training
    assert module.layers["0"].training
    for name, data in module.state_dict().items():
        np.testing.assert_array_equal(data, before[name])
    module.layers["0"].gamma.data += 1
    assert graph.value("0.gamma").data.tolist() == [1, 1]


class Shared(Module):
    """Weights used twice, a number, and control flow."""

    def __init__(self, rng):
        self.linear = Linear(3, 3, rng=rng)

    def forward(self, x):
        for _ in range(2):
            x = self.linear(x) * 0.5
        return x


def test_shared_weights_are_one_constant_and_numbers_become_constants():
    module = Shared(np.random.default_rng(10))
    graph = trace(module, (3,))
    assert [n.name for n in graph.nodes] == ["linear", "mul", "linear_1", "mul_1"]
    assert sum(v.is_constant for v in graph.values.values()) == 4
    assert_same(module, graph, np.ones((1, 3), np.float32))


class Applied(Module):
    def __init__(self, compute):
        self.forward = compute


class Doubled(CustomFunction):
    @staticmethod
    def forward(context, x):
        return x * 2


INDICES = {
    "number": np.s_[:, -1],
    "NumPy's number": (slice(None), np.int64(2)),
    "ellipsis": np.s_[..., 1],
    "ellipsis for nothing": np.s_[:, 1, ..., 2],
    "whole": np.s_[:],
    "backwards": np.s_[:, ::-1, 1::2],
    "behind the end": np.s_[:, 2:99],
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_a_selection_is_a_slice(index):
    x = np.random.default_rng(11).normal(size=(1, 4, 3)).astype(np.float32)
    graph = trace(Applied(lambda x: x[index]), (4, 3))
    assert [n.op for n in graph.nodes] == ["slice"]
    np.testing.assert_array_equal(evaluate(graph, {"input": x})["slice"], x[index])


@pytest.mark.parametrize(
    ("exponent", "op"), [(2, "square"), (2.0, "square"), (0.5, "sqrt"), (-0.5, "rsqrt")]
)
def test_powers_that_the_table_has_are_its_ops(exponent, op):
    x = np.array([[0.5, 1.0, 4.0]], np.float32)
    graph = trace(Applied(lambda x: x**exponent), (3,))
    assert [n.op for n in graph.nodes] == [op]
    np.testing.assert_allclose(evaluate(graph, {"input": x})[op], x**exponent, rtol=1e-6)


@pytest.mark.parametrize(
    ("compute", "name"),
    [
        (lambda x: x**3, "power"),
        (lambda x: x[:, [0, 0]], "select"),
        (lambda x: x[:, None], "select"),
        (Doubled.apply, "Doubled"),
    ],
)
def test_what_only_training_has_is_refused_by_name(compute, name):
    with pytest.raises(UnsupportedError, match=f"{name} exists in training only"):
        trace(Applied(compute), (3,))


def test_a_wrong_input_shape_is_refused():
    with pytest.raises(ShapeError, match="conv2d in training"):
        trace(Conv2d(3, 4, 3, rng=np.random.default_rng(0)), (8, 8, 1))


def centred(x):
    return x - np.float32(x.data.mean())


def branch(x):
    return x * 2 if x.data.max() > 0 else x


def constant(x):
    return Tensor(x.data * 2)


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        (centred, r"a constant is computed from the input[^$]*sub 'sub'[^$]*'constant'"),
        (constant, r"a constant is computed from the input[^$]*the output"),
        (lambda x: x if x.data.any() else Tensor(x.data), "a constant is computed from the input"),
        (branch, r"depends on its input's values: nothing for zeros, mul 'mul' for random numbers"),
        (
            lambda x: x * 2 if not x.data.any() else x + 1,
            r"mul 'mul' for zeros, add 'add' for",
        ),
        (lambda x: x if x.data.any() else x * 2, r"mul 'mul' for zeros, nothing for random num"),
    ],
)
def test_what_depends_on_values_is_refused(compute, says):
    with pytest.raises(UnsupportedError, match=says):
        trace(Applied(compute), (4,))


def test_shapes_may_decide():
    graph = trace(Applied(lambda x: x * (1 / x.shape[-1]) if x.ndim == 2 else x), (4,))
    assert graph.value("constant").data == 0.25


@pytest.mark.parametrize("name", ["gamma", "mean"])
def test_parameters_that_are_not_finite_are_refused(name):
    norm = BatchNorm(2)
    getattr(norm, name).data = np.array([1, np.nan], np.float32)
    with pytest.raises(DataError, match=rf"'0\.{name}' holds numbers that are not fin[^$]*\(2,\)"):
        trace(Sequential(norm), (2,))
