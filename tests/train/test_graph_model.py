"""Graphs in training: which nodes share a layer, and whose constants are whose."""

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.graphs import Builder
from tests.train.build import train
from tinyrt.api.reading import open_model
from tinyrt.convert.passes import optimize
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.ir import Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import quantize_graph
from tinyrt.quantize.config import QuantizationWarning
from tinyrt.train import Tensor
from tinyrt.train.channels import channel_scores
from tinyrt.train.graph_model import GraphModel, GraphModule, applied_once, each_once
from tinyrt.train.qat import QatModel
from tinyrt.train.recipes.stages import answers_of


class Net:
    """Dense layers over four numbers."""

    def __init__(self, *inputs):
        self.rng = np.random.default_rng(0)
        self.builder = Builder(*(inputs or [(1, 4)]))

    def constant(self, *shape):
        return self.builder.constant(self.rng.normal(size=shape).astype(np.float32))

    def dense(self, x, w, *bias, activation="NONE"):
        attrs = FullyConnectedAttrs(activation=activation)
        return self.builder.op("fully_connected", (x, w, *bias), attrs)

    def add(self, *inputs):
        return self.builder.op("add", inputs, AddAttrs())


def samples(n=32):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 4)).astype(np.float32), rng.integers(0, 4, n)


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def trained(graph, steps=3):
    """The model after some steps; what it deploys answers as it does."""
    model = GraphModel(graph)
    x, y = samples()
    np.testing.assert_allclose(answers_of(model)(x), Model(graph)(x), rtol=1e-4, atol=1e-5)
    train(model, x, y, steps)
    np.testing.assert_allclose(
        Model(model.trained())(x), answers_of(model)(x), rtol=1e-4, atol=1e-5
    )
    return model


def test_one_layer_that_is_applied_twice_stays_one():
    net = Net()
    w, b = net.constant(4, 4), net.constant(4)
    graph = net.builder.graph(net.dense(net.dense("x", w, b), w, b))
    model = trained(graph)
    assert [name for name, _ in model.children()] == ["fully_connected_0"]
    assert [name for name, _ in each_once(model.layers)] == ["fully_connected_0"]
    first, second = model.trained().nodes
    assert first.inputs[1:] == second.inputs[1:]
    assert not applied_once(model.graph, next(model.nodes(1)))


def test_layers_with_the_same_weights_and_another_bias_part_ways():
    net = Net()
    w = net.constant(4, 4)
    y = net.dense("x", w, net.constant(4))
    model = trained(net.builder.graph(net.dense(y, w, net.constant(4))))
    first, second = model.trained().bound()
    assert first.node.inputs[1] != second.node.inputs[1]
    assert np.any(first.input(1).data != second.input(1).data)
    assert all(applied_once(model.graph, node) for node in model.nodes(1))


def test_layers_with_the_same_constants_and_another_activation_part_ways():
    net = Net()
    w, b = net.constant(4, 4), net.constant(4)
    y = net.dense("x", w, b, activation="RELU")
    model = trained(net.builder.graph(net.dense(y, w, b)))
    assert len(list(model.children())) == 2
    first, second = model.trained().nodes
    assert not set(first.inputs[1:]) & set(second.inputs[1:])


def test_what_is_no_layer_keeps_a_constant_as_it_was():
    """A bias that is a limit as well."""
    net = Net()
    bias = net.constant(4)
    y = net.dense("x", net.constant(4, 4), bias)
    graph = net.builder.graph(net.builder.op("maximum", (y, bias)))
    before = graph.value(bias).data.copy()
    model = trained(graph)
    assert model.untrained() == {"maximum_1": (bias,)}
    deployed = model.trained()
    np.testing.assert_array_equal(deployed.value(bias).data, before)
    assert np.any(deployed.value(deployed.nodes[0].inputs[2]).data != before)


def normed(net, *names):
    return net.builder.op("batch_norm", names, BatchNormAttrs(epsilon=0.5))


def test_one_constant_in_two_roles_of_a_norm_becomes_two():
    """Ones are gamma and variance, zeros are beta and mean."""
    net = Net()
    ones, zeros = (net.builder.constant(np.full(4, v, np.float32)) for v in (1, 0))
    y = net.dense("x", net.constant(4, 4))
    graph = net.builder.graph(normed(net, y, ones, zeros, zeros, ones))
    model = trained(graph, steps=40)
    node = list(model.trained().bound())[1]
    gamma, beta, mean, variance = (value.data for value in node.inputs[1:])
    assert len(set(node.node.inputs[1:])) == 4
    x, _ = samples()
    y = x @ model.trained().value(model.trained().nodes[0].inputs[1]).data.T
    # Statistics follow the batches; gamma and beta follow the loss.
    np.testing.assert_allclose(mean, y.mean(axis=0), atol=0.3)
    assert np.abs(variance - y.var(axis=0)).max() < 0.5 * y.var(axis=0).max()
    assert np.any(gamma != variance)
    assert np.any(beta != mean)


def test_a_norm_keeps_its_epsilon():
    net = Net()
    parts = [net.builder.constant(np.full(4, v, np.float32)) for v in (1, 0, 0.25, 0.5)]
    model = GraphModel(net.builder.graph(normed(net, "x", *parts)))
    x, _ = samples()
    np.testing.assert_allclose(answers_of(model)(x), x - 0.25, rtol=1e-5, atol=1e-6)


def test_weights_that_an_op_computes_are_no_layer():
    net = Net()
    w = net.builder.op("tanh", (net.constant(4, 4),))
    graph = net.builder.graph(net.dense(net.dense("x", net.constant(4, 4)), w))
    assert [name for name, _ in GraphModel(graph).children()] == ["fully_connected_1"]


def test_a_layer_whose_bias_an_op_computes_is_not_trained():
    net = Net()
    bias = net.builder.op("tanh", (net.constant(4),))
    graph = net.builder.graph(net.dense("x", net.constant(4, 4), bias))
    model = GraphModel(graph)
    x, _ = samples(1)
    assert not list(model.parameters())
    assert_near(model(Tensor(x)).data, Model(graph)(x))


def test_an_imported_layer_without_bias_is_trained(tmp_path):
    file = OnnxModel()
    rows = file.op("Relu", file.op("Gemm", file.input(1, 4), file.weights(4, 4)))
    path = file.save(tmp_path, file.op("Gemm", rows, file.weights(4, 4), file.weights(4)))
    model = trained(open_model(path))
    assert [name for name, _ in model.named_parameters()] == ["n0.weight", "n2.weight", "n2.bias"]


def test_a_graph_without_ops_gives_its_input():
    x, _ = samples()
    model = GraphModel(Net().builder.graph("x"))
    np.testing.assert_array_equal(model(Tensor(x)).data, x)


def test_the_logits_before_a_softmax_are_trained_on_and_the_softmax_is_deployed():
    net = Net()
    y = net.dense("x", net.constant(4, 4))
    graph = net.builder.graph(net.builder.op("softmax", (y,), SoftmaxAttrs()))
    model = GraphModel(graph)
    x, _ = samples()
    logits = model(Tensor(x)).data
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Model(model.trained())(x), expected, rtol=1e-4)


def two_heads():
    """Two inputs; a softmax of what both give, and what a layer makes of that softmax."""
    net = Net((1, 4), (1, 4))
    first, second = net.builder.inputs
    logits = net.add(net.dense(first, net.constant(4, 4)), second)
    chosen = net.builder.op("softmax", (logits,), SoftmaxAttrs())
    weights = net.constant(3, 4)
    return net.builder.graph(chosen, net.dense(chosen, weights)), logits


def test_several_inputs_and_outputs_are_called_in_order():
    graph, _ = two_heads()
    model, (x, _) = GraphModel(graph), samples()
    one, two = Tensor(x), Tensor(x[::-1] * 2)
    named = model.answers(dict(zip(graph.inputs, (one, two), strict=True)))
    for found, expected in zip(model(one, two), named, strict=True):
        np.testing.assert_array_equal(found.data, expected.data)
    for inputs in ((one,), (one, two, one)):
        with pytest.raises(UnsupportedError, match=f"called with {len(inputs)} inputs"):
            model(*inputs)


def test_several_inputs_and_outputs_are_trained_by_name():
    graph, logits = two_heads()
    x, z = samples()[0], samples()[0][::-1] * 2
    feeds = dict(zip(graph.inputs, (x, z), strict=True))
    expected = Model(replace(graph, outputs=(logits, graph.outputs[1])))(feeds)
    model = GraphModel(graph)
    assert model.ends == (logits, graph.outputs[1])
    answers = model.answers({name: Tensor(array) for name, array in feeds.items()})
    for answer, name in zip(answers, model.ends, strict=True):
        np.testing.assert_allclose(answer.data, expected[name], atol=1e-6)
    (answers[0].sum() + (answers[1] * answers[1]).sum()).backward()
    assert all(p.grad is not None for p in model.parameters())
    in_int8 = QatModel(graph, feeds)
    in_int8.eval()
    answers = in_int8.answers({name: Tensor(array) for name, array in feeds.items()})
    deployed = in_int8.deployed()
    assert deployed.outputs == graph.outputs
    outputs = Model(replace(deployed, outputs=in_int8.ends))(feeds)
    for answer, name in zip(answers, in_int8.ends, strict=True):
        np.testing.assert_allclose(answer.data, outputs[name], rtol=0, atol=1e-6)


def test_a_module_of_a_graph_says_what_it_lacks():
    net = Net()
    module = GraphModule(net.builder.graph("x"))
    with pytest.raises(NotImplementedError, match="GraphModule does not define _answers"):
        module(Tensor(samples()[0]))


def halved(graph):
    """The same, its weights stored in float16."""
    value = next(v for v in graph.values.values() if v.is_constant)
    return graph.with_nodes(
        graph.nodes, [Value.constant(value.name, value.data.astype(np.float16))]
    )


def in_int8(graph):
    return quantize_graph(graph, samples()[0])


@pytest.mark.parametrize("stored", [in_int8, halved])
@pytest.mark.parametrize("kind", [GraphModel, lambda graph: QatModel(graph, samples()[0])])
def test_quantised_models_are_refused(stored, kind):
    net = Net()
    graph = stored(net.builder.graph(net.dense("x", net.constant(4, 4))))
    with pytest.raises(UnsupportedError, match=r"quantised already[^$]*train the float model"):
        kind(graph)


def moved(net, x, back=True):
    """A layer on padded halves of a sample: such a border is not known to keep samples apart."""
    halves = net.builder.op("reshape", (x,), ReshapeAttrs((2, 1, 2)))
    padded = net.builder.op("pad", (halves,), PadAttrs(((0, 0), (0, 0), (0, 1))))
    y = net.builder.op(
        "fully_connected", (padded, net.constant(2, 3)), FullyConnectedAttrs(keep_num_dims=True)
    )
    return net.builder.op("reshape", (y,), ReshapeAttrs((1, 4))) if back else y


def test_samples_go_one_by_one_where_the_model_moves_their_axis():
    net = Net()
    graph = net.builder.graph(net.dense(moved(net, "x"), net.constant(4, 4)))
    model = trained(graph)
    assert model.one_by_one
    assert not GraphModel(two_heads()[0]).one_by_one
    x, y = samples()
    scores = channel_scores(model, x, y)
    single = channel_scores(model, x, y, batch=1)
    np.testing.assert_array_equal(scores[graph.outputs[0]], single[graph.outputs[0]])


def test_the_graph_for_so_many_samples_is_made_once():
    """A training run asks for two numbers of them again and again."""
    model = GraphModel(two_heads()[0])
    first, *_, again = ([node.output for node in model.nodes(n)] for n in (4, 3, 1, 4))
    assert all(a is b for a, b in zip(first, again, strict=True))
    assert first[0].shape[0] == 4


def test_ranges_move_once_for_all_samples_that_go_one_by_one():
    net = Net()
    model = QatModel(net.builder.graph(moved(net, "x")), samples()[0])
    x = samples()[0][:8] * 10
    quantizer = model.quantizers["x"]
    start = quantizer.high.item()
    model.answers({"x": Tensor(x)})
    expected = start + quantizer.momentum * (x.max() - start)
    assert quantizer.high.item() == pytest.approx(expected, rel=1e-5)


def with_norm(net, x):
    """Behind a norm of mean 0 and variance 1."""
    factors = [net.builder.constant(np.full(4, v, np.float32)) for v in (2, 1, 0, 1)]
    return normed(net, x, *factors)


def test_what_cannot_go_one_by_one_is_refused():
    net = Net()
    graph = net.builder.graph(moved(net, with_norm(net, "x")))
    with pytest.raises(UnsupportedError, match=r"batch norms want the samples of a batch together"):
        GraphModel(graph)(Tensor(samples()[0]))
    net = Net()
    outputs = net.dense("x", net.constant(4, 4)), moved(net, "x", back=False)
    with pytest.raises(
        UnsupportedError, match=r"moves the samples' axis away from the front"
    ) as refused:
        GraphModel(net.builder.graph(*outputs))(Tensor(samples()[0]))
    assert f"'{outputs[1]}'" in refused.value.tensor


def test_norms_of_samples_that_go_one_by_one_are_folded_with_a_warning():
    net = Net()
    source = net.builder.graph(moved(net, with_norm(net, net.dense("x", net.constant(4, 4)))))
    with pytest.warns(QuantizationWarning, match=r"1 of 1 batch norms.*samples go .* one by one"):
        model = QatModel(optimize(source), samples()[0], source=source)
    assert {layer.norm for layer in model.layers.values()} == {""}
