"""Constants that are parameters: of layer and group norms, PReLU, scales and embeddings."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, channels_last, expected
from tests.train.build import train
from tests.train.test_graph_model import Net, assert_near, samples
from tests.train.test_plain_values import LENGTH, SYMBOLS, Tokens, tokens
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.errors import DataError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.train import Tensor, trace
from tinyrt.train.constants import constant_places
from tinyrt.train.fake_quant import ConstantQuantizer
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.nn import LayerNorm, Linear, ReLU, Sequential
from tinyrt.train.qat import QatConfig, QatModel, Scales
from tinyrt.train.recipes.stages import answers_of

IMAGE = (1, 2, 5, 4)


def images(n=24):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, *IMAGE[1:])) + y[:, None, None, None] / 2
    return x.astype(np.float32), y


def normed_net():
    """PyTorch's names for what it holds: a convolution, then norms, slopes and a layer scale."""
    file = OnnxModel(opset=17)
    y = file.op("Conv", file.input(*IMAGE), file.weights(4, 2, 3, 3), pads=[1, 1, 1, 1])
    y = file.op("InstanceNormalization", y, file.weights(4, low=0.5), file.weights(4))
    y = file.op("PRelu", y, file.weights(4, 1, 1, low=0.1))
    y = file.op("Mul", file.weights(4, 1, 1, low=0.3), y)  # layer scale, in front
    y = file.op("Transpose", y, perm=[0, 2, 3, 1])
    y = file.op("Reshape", y, file.ints(1, 20, 4))
    y = file.op("Add", y, file.weights(1, 20, 4))  # position embedding
    y = file.op("LayerNormalization", y, file.weights(4, low=0.5), file.weights(4), axis=-1)
    y = file.op("ReduceMean", y, axes=[1], keepdims=0)
    y = file.op("Sub", file.weights(4), y)
    return file, file.op("Gemm", y, file.weights(4, 3), file.weights(3))


def sizes(parameters):
    return sorted(p.data.size for p in parameters)


def moved(model, x, y, steps=2):
    """Which parameters training changes."""
    before = {name: p.data.copy() for name, p in model.named_parameters()}
    train(model, x, y, steps)
    return {name for name, p in model.named_parameters() if np.any(p.data != before[name])}


def test_all_parameters_of_an_imported_network_are_trained_and_written_back(tmp_path):
    file, y = normed_net()
    path = file.save(tmp_path, y)
    graph = read_onnx(path)
    model, (x, labels) = GraphModel(graph), images()
    assert_near(model(Tensor(x[:1])).data, expected(path, {"x": x[:1]})[0])
    # Convolution, norm of each instance, slopes, scale, embedding, norm of layers, sub, classifier.
    assert sizes(model.parameters()) == sorted([72, 4, 4, 4, 4, 80, 4, 4, 4, 12, 3])
    assert moved(model, x, labels) == {name for name, _ in model.named_parameters()}
    assert_near(Model(model.trained())(x), answers_of(model)(x))
    assert model.untrained() == {}


def test_a_traced_layer_norm_stays_a_parameter():
    rng = np.random.default_rng(0)
    norm = LayerNorm(6)
    norm.gamma.data, norm.beta.data = (rng.uniform(0.5, 2, 6).astype(np.float32) for _ in "gb")
    net = Sequential(Linear(4, 6, rng=rng), norm, ReLU(), Linear(6, 3, rng=rng))
    model = GraphModel(trace(net, (4,)))
    assert sizes(model.parameters()) == sizes(net.parameters())
    x, y = samples()
    y = y % 3
    train(net, x, y, 3)
    train(model, x, y, 3)
    assert_near(answers_of(model)(x), answers_of(net)(x))


def op(net, name, *inputs, attrs=None):
    return net.builder.op(name, inputs, attrs or NoAttrs())


def mul(net, *inputs):
    return op(net, "mul", *inputs, attrs=MulAttrs())


def number(net, *values):
    return net.builder.constant(np.array(values, np.float32))


def names_of(net, y):
    return [name for name, _ in GraphModel(net.builder.graph(y)).named_parameters()]


def test_what_prepares_the_input_and_single_numbers_stay():
    net = Net()
    y = mul(net, net.add("x", net.constant(4)), net.constant(4))
    y = net.dense(y, net.constant(4, 4))
    y = mul(net, net.add(y, number(net, 0.5)), number(net, 2))
    assert names_of(net, mul(net, y, net.constant(4))) == [
        "fully_connected_2.weight",
        "mul_5.constant",
    ]


@pytest.mark.parametrize(
    "prepare",
    [
        lambda net: op(net, "div", "x", net.constant(4), attrs=DivAttrs()),
        lambda net: op(net, "reshape", "x", attrs=ReshapeAttrs((1, 2, 2, 1))),
        lambda net: op(
            net,
            "resize_bilinear",
            op(net, "reshape", "x", attrs=ReshapeAttrs((1, 2, 2, 1))),
            attrs=ResizeAttrs((4, 4)),
        ),
        lambda net: op(net, "cast", "x", attrs=CastAttrs(DType.FLOAT32)),
    ],
    ids=["div", "moved", "resized", "cast"],
)
def test_inputs_may_be_prepared_in_several_steps(prepare):
    net = Net()
    y = prepare(net)
    scale = net.constant(*net.builder.values[y].shape)
    assert constant_places(net.builder.graph(mul(net, y, scale))) == {}


def test_a_norm_of_the_input_is_no_preparation():
    net = Net()
    mean = op(net, "mean", "x", attrs=MeanAttrs((1,), keep_dims=True))
    y = op(net, "sub", "x", mean, attrs=AddAttrs())
    assert names_of(net, mul(net, y, net.constant(4))) == ["mul_2.constant"]


def test_integers_are_no_parameters():
    net = Net()
    y = op(net, "cast", net.dense("x", net.constant(4, 4)), attrs=CastAttrs(DType.INT32))
    y = net.add(y, net.builder.constant(np.arange(4, dtype=np.int32)))
    graph = net.builder.graph(op(net, "cast", y, attrs=CastAttrs(DType.FLOAT32)))
    assert constant_places(graph) == {}


def test_slopes_are_parameters_even_where_there_is_one_for_all_of_the_input():
    net = Net()
    assert names_of(net, op(net, "prelu", "x", number(net, 0.25))) == ["prelu_0.constant"]


@pytest.mark.parametrize("hidden", [-np.inf, -100.0, -1e9])
def test_masks_stay(hidden):
    net = Net()
    y = net.dense("x", net.constant(4, 4))
    y = net.add(y, number(net, 0, hidden, 0, 0))
    y = op(net, "softmax", y, attrs=SoftmaxAttrs())
    y = mul(net, y, number(net, 1, 0, 0, 1))
    assert names_of(net, net.dense(y, net.constant(4, 4))) == [
        "fully_connected_0.weight",
        "fully_connected_4.weight",
    ]


def test_states_of_zeros_stay_and_offsets_of_zeros_do_not():
    """A gated state, and one less than which something is; the offset is of a new layer."""
    net, zeros = Net(), (0, 0, 0, 0)
    y = net.dense("x", net.constant(4, 4))
    y = net.add(mul(net, y, number(net, *zeros)), number(net, *zeros))
    y = op(net, "sub", number(net, *zeros), y, attrs=AddAttrs())
    assert names_of(net, y) == ["fully_connected_0.weight", "add_2.constant"]


@pytest.mark.parametrize("values", [(0, -99, 0, 0), (0, 2, 3, 1), (-200, 1, 1, 1), (1, 1, 1, 1)])
def test_other_numbers_are_no_mask(values):
    net = Net()
    y = net.add(net.dense("x", net.constant(4, 4)), number(net, *values))
    assert "add_1.constant" in names_of(net, y)


def test_operands_that_are_both_computed_or_both_constant_are_no_parameters():
    net = Net()
    y = net.dense("x", net.constant(4, 4))
    y = net.add(y, y)
    assert names_of(net, net.add(y, net.add(net.constant(4), net.constant(4)))) == [
        "fully_connected_0.weight"
    ]


def test_a_constant_that_different_ops_read_becomes_one_of_each():
    net = Net()
    shared, y = net.constant(4), net.dense("x", net.constant(4, 4))
    graph = net.builder.graph(mul(net, shared, net.add(y, shared)))
    model, (x, labels) = GraphModel(graph), samples()
    assert moved(model, x, labels) == {
        "fully_connected_0.weight",
        "add_1.constant",
        "mul_2.constant",
    }
    assert_near(Model(model.trained())(x), answers_of(model)(x))
    _, added, product = model.trained().nodes
    assert added.inputs[1] != product.inputs[0]


def test_the_same_scale_applied_again_stays_one():
    net = Net()
    scale, y = net.constant(4), net.dense("x", net.constant(4, 4))
    y = op(net, "tanh", mul(net, y, scale))
    model, (x, labels) = GraphModel(net.builder.graph(mul(net, y, scale))), samples()
    assert len(model.parameters()) == 2
    train(model, x, labels, 3)
    assert_near(Model(model.trained())(x), answers_of(model)(x))
    assert model.untrained() == {}


def test_frozen_layers_stay_and_are_named():
    net = Net()
    y = net.dense(mul(net, "x", net.constant(4)), net.constant(4, 4), net.constant(4))
    graph = net.builder.graph(mul(net, y, net.constant(4)))
    model, (x, labels) = GraphModel(graph, frozen={"fully_connected_1"}), samples()
    assert [name for name, _ in model.named_parameters()] == ["mul_2.constant"]
    dense = graph.nodes[1]
    assert model.untrained() == {
        "mul_0": graph.nodes[0].inputs[1:],
        "fully_connected_1": dense.inputs[1:],
    }
    train(model, x, labels, 2)
    weight = dense.inputs[1]
    np.testing.assert_array_equal(model.trained().value(weight).data, graph.value(weight).data)
    assert_near(Model(model.trained())(x), answers_of(model)(x))


def test_a_layer_that_is_applied_twice_is_frozen_by_the_first_name():
    net = Net()
    w = net.constant(4, 4)
    graph = net.builder.graph(net.dense(net.dense("x", w), w))
    assert GraphModel(graph, frozen=["fully_connected_0"]).parameters() == []


def test_freezing_what_is_no_layer_is_refused():
    net = Net()
    graph = net.builder.graph(net.dense("x", net.constant(4, 4)))
    with pytest.raises(DataError, match=r"no layer 'head'[^$]*fully_connected_0[^$]*\.weight"):
        GraphModel(graph, frozen=["tail", "torso", "head", "neck", "stem"])


def test_tables_are_trained_and_tables_of_ones_stay():
    """Symbols as vectors are parameters; symbols one-hot are none."""
    net = Tokens(np.random.default_rng(0))
    graph, (x, y) = trace(net, (LENGTH,), dtype=np.int32), tokens()
    model = GraphModel(graph)
    assert sizes(model.parameters()) == sizes(net.parameters())
    assert "embed.constant" in moved(model, x, y)
    assert_near(Model(model.trained())(x), answers_of(model)(x))
    net.embed.weight.data = np.eye(SYMBOLS, 4, dtype=np.float32)
    graph = trace(net, (LENGTH,), dtype=np.int32)
    assert GraphModel(graph).untrained() == {"embed": ("embed.weight",)}


def test_a_table_that_outgrows_its_range_in_int8_widens_it_in_training():
    graph, (x, y) = trace(Tokens(np.random.default_rng(0)), (LENGTH,), dtype=np.int32), tokens()
    model = QatModel(optimize(graph), x)
    assert any(name.endswith("embed.constant") for name in moved(model, x, y))
    (layer,) = model.constants.values()
    layer.constant.data = layer.constant.data * 3
    before = [float(q.high.item()) for q in model.quantizers.values()]
    answers_of(model)(x)
    assert [float(q.high.item()) for q in model.quantizers.values()] == before
    model(Tensor(x, dtype=np.int32))
    after = [float(q.high.item()) for q in model.quantizers.values()]
    greatest = float(layer.constant.data.max())
    assert any(
        new == pytest.approx(old + 0.01 * (greatest - old))
        for old, new in zip(before, after, strict=True)
    )
    np.testing.assert_allclose(Model(model.deployed())(x), answers_of(model)(x), rtol=0, atol=1e-6)


def test_the_range_of_a_mask_in_int8_stays():
    net = Net()
    y = net.add(net.dense("x", net.constant(4, 4)), number(net, 0, -1e9, 0, 0))
    y = net.dense(op(net, "softmax", y, attrs=SoftmaxAttrs()), net.constant(4, 4))
    graph, (x, _) = net.builder.graph(y), samples()
    model = QatModel(graph, x)
    quantizer = model.quantizers[graph.nodes[1].inputs[1]]
    before = quantizer.q
    model(Tensor(x))
    assert before.scale < 1e3
    assert quantizer.q == before


CONFIGS = {
    "ranges": QatConfig(),
    "LSQ": QatConfig(activation_scales=Scales.LSQ, weight_scales=Scales.LSQ),
    "PACT": QatConfig(activation_scales=Scales.PACT),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_constants_in_training_for_int8_are_deployed_as_trained(config, tmp_path):
    file, y = normed_net()
    graph = optimize(read_onnx(file.save(tmp_path, y)))
    x, labels = images()
    x = channels_last(x)
    model = QatModel(graph, x, config=config)
    names = {name for name, _ in model.named_parameters()}
    constants = {name for name in names if name.endswith(".constant")}
    assert len(constants) >= 5
    assert moved(model, x, labels, 4) >= constants
    follow = any(isinstance(q, ConstantQuantizer) for q in model.quantizers.values())
    assert follow == (config.activation_scales is Scales.RANGE)
    np.testing.assert_allclose(Model(model.deployed())(x), answers_of(model)(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "scale"), [(DType.INT8, 4.99 / 255), (DType.INT16, 3 / 32767)], ids=str
)
def test_the_grid_of_a_constant_follows_it(dtype, scale):
    net = Net()
    y = mul(net, net.dense("x", net.constant(4, 4)), number(net, 0.5, -1, 0.25, 1.5))
    (x, _), config = samples(), QatConfig(activations=dtype)
    model = QatModel(net.builder.graph(y), x, config=config)
    (layer,) = model.constants.values()
    (grid,) = (q for q in model.quantizers.values() if isinstance(q, ConstantQuantizer))
    layer.constant.data = np.array([3, -1.99, 1, 0], np.float32)
    assert grid.q.scale == pytest.approx(scale)
    seen = []
    layer.observers = (seen.append,)
    answer = answers_of(model)(x)
    assert len(seen) == 1
    np.testing.assert_allclose(Model(model.deployed())(x), answer, rtol=0, atol=1e-6)
    model(Tensor(x)).sum().backward()
    assert np.all(layer.constant.grad != 0)  # the greatest, too, which rounds down to its grid
