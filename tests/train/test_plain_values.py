"""Truth values and places in training: traced, trained by and deployed as what they are."""

import numpy as np
import pytest

from tests.graphs import Builder
from tests.train.build import train
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Value
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice_at import SliceAtAttrs
from tinyrt.train import Tensor, apply, no_grad, trace
from tinyrt.train.functional import where
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.nn import Linear, Module, ReLU, Sequential
from tinyrt.train.qat import QatModel
from tinyrt.train.sequence import Embedding

SYMBOLS, LENGTH = 9, 6


class Tokens(Module):
    """The mean of what a layer makes of symbols' vectors; the symbols come in two rows."""

    def __init__(self, rng):
        self.embed = Embedding(SYMBOLS, 4, rng=rng)
        self.layer = Sequential(Linear(4, 8, rng=rng), ReLU())
        self.out = Linear(8, 3, rng=rng)

    def forward(self, x):
        vectors = self.embed(x.reshape(x.shape[0], 2, -1))
        return self.out(self.layer(vectors).mean((1, 2)))


class Choices(Module):
    """A computed choice that is turned round, and one that is the same for every sample."""

    def __init__(self, rng):
        self.first, self.out = Linear(4, 4, rng=rng), Linear(4, 3, rng=rng)
        self.mask = np.array([True, True, False, True])

    def forward(self, x):
        y = self.first(x)
        above = apply("logical_not", NoAttrs(), apply("less", NoAttrs(), y, Tensor([0.25])))
        return self.out(where(self.mask, where(above, y, y * 0.1), 0.5))


def tokens(n=24):
    """Symbols, all of which occur, and classes that depend on them."""
    x = np.random.default_rng(1).integers(0, SYMBOLS, (n, LENGTH)).astype(np.int32)
    x[0] = np.arange(LENGTH)
    x[1] = np.arange(SYMBOLS - LENGTH, SYMBOLS)
    return x, (x < 3).sum(axis=1) % 3


def numbers(n=24):
    x = np.random.default_rng(2).normal(size=(n, 4)).astype(np.float32)
    return x, (x[:, :2] > 0).sum(axis=1)


NETS = {
    "tokens": (Tokens, tokens, (LENGTH,), np.int32),
    "choices": (Choices, numbers, (4,), np.float32),
}
nets = pytest.mark.parametrize(("make", "data", "shape", "dtype"), NETS.values(), ids=NETS)


@nets
def test_a_trace_computes_the_same(make, data, shape, dtype):
    net, (x, _) = make(np.random.default_rng(0)), data()
    graph = trace(net, shape, dtype=dtype)
    assert graph.input_values[0].dtype is DType.of(dtype)
    with no_grad():
        expected = net(Tensor(x)).data
    (found,) = evaluate(rebatch(graph, len(x)), {"input": x}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(Model(optimize(graph))(x), expected, rtol=1e-5, atol=1e-6)


def test_a_trace_holds_the_ops_and_what_they_take():
    graph = trace(Tokens(np.random.default_rng(0)), (LENGTH,), dtype=np.int32)
    assert [n.op for n in graph.nodes][:2] == ["reshape", "embedding"]
    assert [n.name for n in graph.nodes][1] == "embed"
    assert graph.nodes[1].inputs == ("embed.weight", "reshape")
    assert graph.value("reshape").dtype is DType.INT32
    graph = trace(Choices(np.random.default_rng(0)), (4,))
    kept = [v for v in graph.values.values() if v.is_constant and v.dtype is DType.BOOL]
    assert [v.data.tolist() for v in kept] == [[True, True, False, True]]
    assert graph.value("less").dtype is DType.BOOL


def test_truth_values_may_come_in():
    class Gate(Module):
        def forward(self, x):
            return where(x, Tensor([1.0, 2.0]), 0.0)

    graph = trace(Gate(), (2,), dtype=bool)
    x = np.array([[True, False]])
    assert evaluate(graph, {"input": x})["select_v2"].tolist() == [[1, 0]]


def test_a_constant_made_of_symbols_is_refused():
    class Baked(Module):
        def forward(self, x):
            return Tensor(x.data.astype(np.float32)) * 2

    with pytest.raises(UnsupportedError, match="a constant is computed from the input"):
        trace(Baked(), (LENGTH,), dtype=np.int32)


def test_symbols_that_are_traced_as_floats_say_how():
    net = Tokens(np.random.default_rng(0))
    with pytest.raises(ShapeError, match=r"not all elements are symbols[\s\S]*0 to 8[\s\S]*int32"):
        trace(net, (LENGTH,))


@pytest.mark.parametrize("wrong", [-1, SYMBOLS, 0.5, np.nan])
def test_what_is_no_symbol_is_refused(wrong):
    net = Tokens(np.random.default_rng(0))
    with pytest.raises(ShapeError, match="not all elements are symbols"):
        net(Tensor([[0, 1, wrong, 1]]))


@nets
def test_float_graphs_are_trained(make, data, shape, dtype):
    """Batches come as floats or as what they are."""
    x, y = data()
    graph = trace(make(np.random.default_rng(0)), shape, dtype=dtype)
    model = GraphModel(optimize(graph))
    np.testing.assert_allclose(model(Tensor(x)).data, Model(graph)(x), rtol=1e-5, atol=1e-6)
    same = model(Tensor(x, dtype=dtype)).data
    np.testing.assert_array_equal(model(Tensor(x)).data, same)
    sample = Tensor(x[:1], requires_grad=dtype is np.float32)
    model(sample).sum().backward()
    assert (sample.grad is None) == (dtype is np.int32)
    losses = train(model, x, y, 30)
    assert losses[-1] < 0.8 * losses[0]
    with no_grad():
        expected = model(Tensor(x)).data
    np.testing.assert_allclose(Model(model.trained())(x), expected, rtol=1e-4, atol=1e-5)


def test_a_batch_of_what_is_no_place_is_refused():
    x, _ = tokens()
    graph = trace(Tokens(np.random.default_rng(0)), (LENGTH,), dtype=np.int32)
    for model in (GraphModel(graph), QatModel(optimize(graph), x)):
        with pytest.raises(ShapeError, match="not all elements are int32"):
            model(Tensor(x + 0.5))


@nets
def test_the_deployed_model_answers_what_the_trained_one_did(make, data, shape, dtype, tmp_path):
    x, y = data(64)
    graph = trace(make(np.random.default_rng(0)), shape, dtype=dtype)
    model = QatModel(optimize(graph), x)
    losses = train(model, x, y, 15)
    assert losses[-1] < losses[0]
    save_tflite(model.deployed(), tmp_path / "net.tflite")
    deployed = read_tflite(tmp_path / "net.tflite")
    with model.evaluating(), no_grad():
        expected = model(Tensor(x)).data
    np.testing.assert_allclose(Model(deployed)(x), expected, rtol=0, atol=1e-6)


PICKS = {
    "embedding": (EmbeddingAttrs(1), [[2, 0]], (1, 2)),
    "gather_nd": (GatherNdAttrs(), [[[0, 2], [0, 0]]], (1, 2)),
    "slice_at": (SliceAtAttrs((1, 2)), [0, 2], (1, 2)),
}


@pytest.mark.parametrize(("op", "attrs", "at", "shape"), [(k, *v) for k, v in PICKS.items()])
def test_places_that_the_model_holds_pick_from_what_is_computed(op, attrs, at, shape):
    b = Builder((1, 4))
    b.values["at"] = Value.constant("at", np.array(at, np.int32))
    graph = b.graph(b.op(op, (b.op("abs", ("x",)), "at"), attrs))
    x = np.array([[-1.0, 2.0, -3.0, 4.0]], np.float32)
    sample = Tensor(x, requires_grad=True)
    y = GraphModel(graph)(sample)
    assert y.shape == shape
    assert y.data.tolist() == ([[3, 4]] if op == "slice_at" else [[3, 1]])
    y.sum().backward()
    assert sample.grad.tolist() == ([[0, 0, -1, 1]] if op == "slice_at" else [[-1, 0, -1, 0]])
    model = QatModel(graph, np.repeat(x, 64, 0))
    with model.evaluating(), no_grad():
        rounded = model(Tensor(x)).data
    np.testing.assert_allclose(rounded, y.data, atol=0.05)
    np.testing.assert_allclose(Model(model.deployed())(x), rounded, rtol=0, atol=1e-6)


def test_a_choice_of_numbers_is_one_of_tensors():
    x = Tensor(np.array([1.0, 2.0]), requires_grad=True)
    y = where([True, False], 0.1, x)
    assert y.data.tolist() == [0.1, 2]
    assert y.dtype == np.float64
    y.sum().backward()
    assert x.grad.tolist() == [0, 1]
    assert where([True, False], x, 0.1).data.tolist() == [1, 0.1]
    assert where(x > 1.5, x, 0.0).data.tolist() == [0, 2]
    assert where(Tensor([True, False], dtype=bool), 1.0, 2.0).data.tolist() == [1, 2]
    with pytest.raises(ShapeError, match="not all elements are bool"):
        where([0.5, 1.0], x, x)
    is_less = apply("less", NoAttrs(), x, x * 2)
    assert not is_less.requires_grad
