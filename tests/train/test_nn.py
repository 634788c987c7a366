"""Layers: gradients of inputs and parameters, batch statistics, names and state."""

import math

import numpy as np
import pytest

from tests.sampling import sampled
from tests.train.build import in_float64, leaf
from tinyrt.errors import DataError, ShapeError
from tinyrt.train import Tensor, cross_entropy, gradcheck, gradgradcheck
from tinyrt.train.core.init import glorot_uniform, he_normal, orthogonal
from tinyrt.train.core.modes import listening
from tinyrt.train.nn import (
    AvgPool2d,
    BatchNorm,
    Buffer,
    Conv2d,
    DepthwiseConv2d,
    Flatten,
    GlobalAvgPool2d,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    ReLU6,
    Sequential,
    Softmax,
)

IMAGE = (2, 5, 6, 4)

LAYERS = {
    "conv": (lambda r: Conv2d(4, 3, 3, rng=r), IMAGE, (2, 5, 6, 3)),
    "conv strided": (lambda r: Conv2d(4, 3, (3, 2), stride=2, rng=r), IMAGE, (2, 3, 3, 3)),
    "conv dilated": (
        lambda r: Conv2d(4, 2, 2, dilation=2, padding="VALID", rng=r),
        IMAGE,
        (2, 3, 4, 2),
    ),
    "conv in groups": (lambda r: Conv2d(4, 6, 3, groups=2, bias=False, rng=r), IMAGE, (2, 5, 6, 6)),
    "depthwise": (lambda r: DepthwiseConv2d(4, 3, rng=r), IMAGE, (2, 5, 6, 4)),
    "depthwise, two each": (
        lambda r: DepthwiseConv2d(4, 3, multiplier=2, stride=(2, 1), bias=False, rng=r),
        IMAGE,
        (2, 3, 6, 8),
    ),
    "linear": (lambda r: Linear(7, 3, rng=r), (4, 7), (4, 3)),
    "linear without bias": (lambda r: Linear(7, 3, bias=False, rng=r), (4, 7), (4, 3)),
    "batch norm": (lambda r: BatchNorm(4), IMAGE, IMAGE),
    "batch norm of rows": (lambda r: BatchNorm(3), (6, 3), (6, 3)),
    "max pool": (lambda r: MaxPool2d(2), IMAGE, (2, 2, 3, 4)),
    "max pool, overlapping": (lambda r: MaxPool2d(3, stride=1, padding="SAME"), IMAGE, IMAGE),
    "average pool": (lambda r: AvgPool2d((2, 3)), IMAGE, (2, 2, 2, 4)),
    "global average": (lambda r: GlobalAvgPool2d(), IMAGE, (2, 4)),
    "flatten": (lambda r: Flatten(), IMAGE, (2, 120)),
    "relu": (lambda r: ReLU(), IMAGE, IMAGE),
    "relu6": (lambda r: ReLU6(), IMAGE, IMAGE),
    "softmax": (lambda r: Softmax(), (3, 5), (3, 5)),
}


@pytest.mark.parametrize("training", [True, False], ids=["training", "deployed"])
@pytest.mark.parametrize(("make", "shape", "out"), LAYERS.values(), ids=LAYERS)
def test_gradients_of_layers(make, shape, out, training):
    rng = np.random.default_rng(3)
    layer = in_float64(make(rng))
    layer.train(training)
    x = leaf(rng, *shape)
    assert layer(x).shape == out
    inputs = [x, *layer.parameters()]
    gradcheck(lambda *_: layer(x), inputs)
    gradgradcheck(lambda *_: layer(x), inputs)


def test_a_module_that_computes_nothing_is_named():
    class Unfinished(Module):
        pass

    with pytest.raises(NotImplementedError, match="Unfinished does not define forward"):
        Unfinished()(Tensor(1.0))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient_of_cross_entropy(smoothing):
    rng = np.random.default_rng(4)
    logits, labels = leaf(rng, 5, 3), [0, 2, 1, 1, 0]
    gradcheck(lambda x: cross_entropy(x, labels, smoothing=smoothing), [logits])
    gradgradcheck(lambda x: cross_entropy(x, labels, smoothing=smoothing), [logits])


def test_gradients_through_a_whole_network():
    rng = np.random.default_rng(5)
    net = in_float64(
        Sequential(
            Conv2d(1, 3, 3, rng=rng),
            BatchNorm(3),
            ReLU(),
            DepthwiseConv2d(3, 3, rng=rng),
            MaxPool2d(2),
            Flatten(),
            Linear(12, 4, rng=rng),
        )
    )
    x = leaf(rng, 3, 4, 4, 1)
    inputs = [x, *net.parameters()]
    gradcheck(lambda *_: cross_entropy(net(x), [0, 1, 3]), inputs)
    gradgradcheck(lambda *_: cross_entropy(net(x), [0, 1, 3]), sampled([x], inputs))


def test_cross_entropy_is_minus_the_log_of_the_true_class_share():
    logits = Tensor(np.log([[1.0, 3.0], [4.0, 4.0]]))
    assert cross_entropy(logits, [1, 0]).item() == pytest.approx(-math.log(0.75 * 0.5) / 2)
    assert cross_entropy(Tensor([[1000.0, -1000.0]]), [0]).item() == 0.0


@pytest.mark.parametrize(
    ("labels", "problem"),
    [([0, 1, 2], r"\(2, 3\).*\(3,\)"), ([0, 3], "0 to 3"), ([0.0, 1.0], "float64")],
)
def test_labels_that_do_not_fit_are_refused(labels, problem):
    with pytest.raises(ShapeError, match=problem):
        cross_entropy(Tensor(np.zeros((2, 3))), labels)


def test_batch_norm_normalises_the_batch_and_follows_its_statistics():
    rng = np.random.default_rng(6)
    x = rng.normal(3.0, 2.0, (8, 4, 4, 2)).astype(np.float32)
    norm = BatchNorm(2, momentum=1.0, epsilon=0.0)
    y = norm(Tensor(x)).data
    assert y.mean(axis=(0, 1, 2)) == pytest.approx(np.zeros(2), abs=1e-5)
    assert y.var(axis=(0, 1, 2)) == pytest.approx(np.ones(2), rel=1e-5)
    assert norm.mean.data == pytest.approx(x.mean(axis=(0, 1, 2)), rel=1e-5)
    assert norm.variance.data == pytest.approx(x.var(axis=(0, 1, 2), ddof=1), rel=1e-5)
    norm.train(False)
    deployed = norm(Tensor(x)).data
    assert deployed == pytest.approx(y, rel=0.01, abs=1e-4)
    assert norm.mean.data == pytest.approx(x.mean(axis=(0, 1, 2)), rel=1e-5)


def test_batch_norm_moves_its_averages_by_its_momentum():
    norm = BatchNorm(1, momentum=0.1)
    norm(Tensor(np.array([[1.0], [3.0]], np.float32)))
    assert norm.mean.data == pytest.approx([0.2])
    assert norm.variance.data == pytest.approx([0.9 + 0.1 * 2.0])
    norm(Tensor(np.array([[1.2]], np.float32)))  # one sample does not vary
    assert norm.mean.data == pytest.approx([0.3])
    assert norm.variance.data == pytest.approx([0.9 * 1.1])


def test_he_initialisation_keeps_the_variance_of_a_relu_network():
    weights = he_normal(np.random.default_rng(0), (64, 3, 3, 32), 288).data
    assert weights.std() == pytest.approx(math.sqrt(2 / 288), rel=0.02)
    assert weights.dtype == np.float32


def test_other_initialisations_follow_their_formulas():
    rng = np.random.default_rng(0)
    weights = glorot_uniform(rng, (300, 100), 100, 300).data
    assert np.abs(weights).max() == pytest.approx(math.sqrt(6 / 400), rel=0.01)
    assert weights.std() == pytest.approx(math.sqrt(2 / 400), rel=0.02)
    first, second = np.split(orthogonal(rng, 8, 2).data, 2)
    for block in (first, second):
        np.testing.assert_allclose(block @ block.T, np.eye(8), atol=1e-5)
    assert not np.allclose(first, second)


class Residual(Module):
    def __init__(self, rng):
        self.body = Sequential(conv=Conv2d(2, 2, 3, rng=rng, bias=False), norm=BatchNorm(2))
        self.scale = Buffer([0.5])

    def forward(self, x):
        return x + self.body(x) * self.scale


def test_parameters_are_named_by_the_path_to_them():
    net = Sequential(Residual(np.random.default_rng(0)), ReLU())
    norm = ["0.body.norm.gamma", "0.body.norm.beta"]
    assert [k for k, _ in net.named_parameters()] == ["0.body.conv.weight", *norm]
    buffers = ["0.body.norm.mean", "0.body.norm.variance"]
    assert list(net.state_dict()) == ["0.scale", "0.body.conv.weight", *norm, *buffers]


def test_state_moves_from_one_module_to_another():
    first, second = (Residual(np.random.default_rng(i)) for i in range(2))
    x = Tensor(np.random.default_rng(2).normal(size=(1, 3, 3, 2)).astype(np.float32))
    first(x)
    state = first.state_dict()
    second.load_state_dict(state)
    state["scale"][:] = 7.0
    for module in (first, second):
        module.train(False)
    np.testing.assert_array_equal(second(x).data, first(x).data)


def test_a_state_that_does_not_fit_changes_nothing():
    net = Linear(2, 2, rng=np.random.default_rng(0))
    before = net.state_dict()
    with pytest.raises(DataError, match=r"missing \['bias'\], unknown \['b'\]"):
        net.load_state_dict({"weight": before["weight"], "b": before["bias"]})
    with pytest.raises(ShapeError, match=r"'bias' has shape \(3,\)[\s\S]*\(2,\)"):
        net.load_state_dict({"weight": before["weight"] + 1, "bias": np.zeros(3)})
    np.testing.assert_array_equal(net.weight.data, before["weight"])


def test_evaluating_restores_every_module_as_it_was():
    net = Sequential(BatchNorm(1), BatchNorm(1))
    net.layers["1"].training = False
    with net.evaluating():
        assert not net.layers["0"].training
    assert net.training
    assert net.layers["0"].training
    assert not net.layers["1"].training


def test_groups_must_divide_the_channels():
    with pytest.raises(ShapeError, match="3 groups"):
        Conv2d(4, 6, 3, groups=3, rng=np.random.default_rng(0))


def test_a_state_shares_no_memory_with_the_module():
    net = Sequential(Linear(3, 2, rng=np.random.default_rng(0)), BatchNorm(2))
    given = {name: array + 1 for name, array in net.state_dict().items()}
    expected = {name: array.copy() for name, array in given.items()}
    net.load_state_dict(given)
    for arrays in (given, net.state_dict()):
        for array in arrays.values():
            array[...] = 9
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 5, 3), (64, 17, 19, 16)])
def test_a_relu_behind_a_batch_norm_is_computed_with_it(shape):
    """In training, with the same bits as apart; not where somebody looks at the norm's result."""
    rng = np.random.default_rng(0)
    x, weights = rng.normal(1, 2, (2, *shape)).astype(np.float32)
    gamma, beta = rng.normal(size=(2, shape[-1])).astype(np.float32)
    found, names = [], []
    for watched in (False, True):
        net = Sequential(norm=BatchNorm(shape[-1]), relu=ReLU(), last=ReLU())
        net["norm"].gamma.data, net["norm"].beta.data = gamma.copy(), beta.copy()
        seen = []
        net["relu"].observers = (lambda y, seen=seen: seen.append(y.data),)
        if watched:
            net["norm"].observers = (lambda y: None,)
        leaf_x = Tensor(x, requires_grad=True)
        y = net(leaf_x)
        names.append(y.step.inputs[0].step.function.name)
        (y * Tensor(weights)).sum().backward()
        tensors = [t.data for _, t in net.named_tensors()]
        grads = [leaf_x.grad, *(t.grad for _, t in net.named_parameters())]
        found.append([y.data, *seen, *tensors, *grads])
    assert names == ["normalise_batch", "relu"]
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_relu_with_a_batch_norm_has_derivatives_of_any_order():
    net = Sequential(BatchNorm(3), ReLU(), Linear(3, 2, rng=np.random.default_rng(1)))
    in_float64(net)
    for low in (None, 0.5):  # all are positive before the norm, and half of them behind it
        x = leaf(np.random.default_rng(2), 6, 3, low=low)
        gradcheck(net, [x])
        gradgradcheck(net, [x])


def test_other_modules_are_computed_apart():
    norm, relu = BatchNorm(2), ReLU()
    assert norm.joint(relu) is not None
    assert norm.joint(ReLU6()) is None
    assert relu.joint(norm) is None
    assert BatchNorm(2).eval().joint(relu) is None

    class Own(BatchNorm):
        def forward(self, x):
            return x

    assert Own(2).joint(relu) is None
    assert norm.joint(type("Mine", (ReLU,), {})()) is None
    with listening(lambda *applied: None):
        assert norm.joint(relu) is None
    with pytest.raises(ShapeError, match="BatchNorm gets shape"):
        Sequential(norm, relu)(Tensor(np.ones((4, 3), np.float32)))
