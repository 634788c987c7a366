"""Borders of convolutions as PyTorch says them, beside zeros put there by hand."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tests.train.build import in_float64, leaf, train
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ShapeError
from tinyrt.interpreter.model import Model
from tinyrt.ops.shared.window import pair
from tinyrt.train import Tensor, checkpoint, gradcheck, no_grad, trace
from tinyrt.train.nn import (
    AvgPool2d,
    Conv2d,
    ConvTranspose2d,
    DepthwiseConv2d,
    GlobalAvgPool2d,
    Linear,
    MaxPool2d,
    ReLU,
    Sequential,
    ZeroPad2d,
)
from tinyrt.train.qat import QatModel
from tinyrt.train.sequence import Conv1d
from tinyrt.train.torch_state import from_torch, to_torch

WINDOWS = {
    "one": (3, {"padding": 1}, (1, 1)),
    "one for each": (3, {"padding": (1, 2)}, (1, 2)),
    "a list of two": (3, {"padding": [0, 1]}, (0, 1)),
    "none": ((2, 3), {"padding": 0}, (0, 0)),
    "stride": (3, {"padding": 1, "stride": 2}, (1, 1)),
    "dilation": (3, {"padding": 2, "dilation": 2}, (2, 2)),
    "wider than SAME": (1, {"padding": 1}, (1, 1)),
    "tall": ((3, 1), {"padding": (1, 0)}, (1, 0)),
    "even taps": (2, {"padding": 1}, (1, 1)),
    "valid": (3, {"padding": "valid"}, (0, 0)),
    "same": (3, {"padding": "same", "dilation": (1, 2)}, (1, 2)),
}
windows = pytest.mark.parametrize(("kernel", "options", "zeros"), WINDOWS.values(), ids=WINDOWS)


@windows
@pytest.mark.parametrize("depthwise", [False, True])
def test_borders_are_zeros_around_the_image(kernel, options, zeros, depthwise):
    """Values and gradients, and graphs of them."""
    rest = {k: v for k, v in options.items() if k != "padding"}

    def layer(**how):
        rng = np.random.default_rng(0)
        made = (
            DepthwiseConv2d(2, kernel, rng=rng, **how)
            if depthwise
            else Conv2d(2, 3, kernel, rng=rng, **how)
        )
        return in_float64(made)

    rng = np.random.default_rng(1)
    net, bare = Sequential(conv=layer(**options)), layer(**rest, padding="VALID")
    x = leaf(rng, 2, 7, 6, 2)
    (height, width), same = zeros, Tensor(x.data, requires_grad=True)
    around = ((0, 0), (height, height), (width, width), (0, 0))
    padded = Tensor(np.pad(same.data, around), requires_grad=True)
    y, expected = net(x), bare(padded)
    np.testing.assert_allclose(y.data, expected.data, rtol=1e-9, atol=1e-12)
    seed = rng.normal(size=y.shape)
    y.backward(seed)
    expected.backward(seed)
    inner = padded.grad[:, height : height + 7, width : width + 6]
    np.testing.assert_allclose(x.grad, inner, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(net["conv"].weight.grad, bare.weight.grad, rtol=1e-9, atol=1e-12)
    assert list(net.state_dict()) == ["conv.weight", "conv.bias"]
    graph = trace(net, (7, 6, 2))
    one = x.data[:1].astype(np.float32)
    for form in (graph, optimize(graph)):
        np.testing.assert_allclose(Model(form)(one), y.data[:1], rtol=1e-4, atol=1e-5)


def test_what_tflite_says_needs_no_border():
    rng = np.random.default_rng(0)
    for options in ({"padding": 1}, {"padding": "same"}, {}, {"padding": 2, "dilation": 2}):
        layer = Conv2d(1, 1, 3, rng=rng, **options)
        assert (layer.border, layer.attrs.padding) == (None, "SAME")
    strided = Sequential(stem=Conv2d(1, 1, 3, rng=rng, padding=1, stride=2))
    assert [n.name for n in trace(strided, (8, 8, 1)).nodes] == ["stem.border", "stem.conv2d"]
    even, odd = (optimize(trace(strided, (n, n, 1))) for n in (8, 7))
    assert [n.op for n in even.nodes] == ["pad", "conv2d"]  # SAME pads the far side alone
    assert [n.op for n in odd.nodes] == ["conv2d"]


def test_a_border_on_each_side():
    x = np.arange(4.0).reshape(1, 2, 2, 1)
    found = ZeroPad2d((1, 2, 3, 4))(Tensor(x)).data
    np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (3, 4), (1, 2), (0, 0))))
    assert ZeroPad2d(2)(Tensor(x)).shape == (1, 6, 6, 1)


def test_convolutions_along_time():
    rng, x = np.random.default_rng(0), np.random.default_rng(1).normal(size=(2, 9, 3))
    for padding, zeros in ((2, 2), ((2,), 2), ("valid", 0), ("same", 1), (0, 0)):
        layer = Conv1d(3, 4, 3, rng=rng, padding=padding)
        bare = Conv1d(3, 4, 3, rng=rng, padding="VALID")
        bare.load_state_dict(layer.state_dict())
        padded = np.pad(x, ((0, 0), (zeros, zeros), (0, 0)))
        np.testing.assert_allclose(layer(Tensor(x)).data, bare(Tensor(padded)).data, rtol=1e-5)
    layer = Conv1d(3, 6, 3, rng=rng, stride=2, dilation=3, groups=3, padding="VALID")
    windows = x[:, [[0, 3, 6], [2, 5, 8]]]  # (n, steps, taps, c)
    taps = layer.conv.weight.data[:, 0, :, 0].reshape(3, 2, 3)
    expected = np.einsum("ntkc,cok->ntco", windows, taps).reshape(2, 2, 6)
    np.testing.assert_allclose(layer(Tensor(x)).data, expected, rtol=1e-5, atol=1e-6)


STEPS = [(1, 0), (2, 0), (2, (0, 1)), ((2, 3), 0), ((2, 3), (1, 2))]


POOLS = {
    "max": (MaxPool2d, 3, {"padding": 1}),
    "max, every": (MaxPool2d, (5, 3), {"padding": (2, 1), "stride": 1}),
    "max, strides": (MaxPool2d, (3, 1), {"padding": (1, 0), "stride": (2, 3)}),
    "max, stride across": (MaxPool2d, 3, {"padding": 1, "stride": (1, 2)}),
    "max, stride down": (MaxPool2d, 3, {"padding": 1, "stride": (2, 1)}),
    "mean": (AvgPool2d, 3, {"padding": 1, "stride": 2}),
    "mean, half": (AvgPool2d, (4, 2), {"padding": (2, 1)}),
    "none": (MaxPool2d, 2, {"padding": 0, "stride": (1, 3)}),
}


@pytest.mark.parametrize(("pool", "kernel", "options"), POOLS.values(), ids=POOLS)
def test_pools_pad_each_side(pool, kernel, options):
    """A maximum never is of the border, a mean counts it; traced and optimised, too."""
    x = np.random.default_rng(0).normal(size=(1, 7, 6, 2)).astype(np.float32) - 5
    (kh, kw), (top, left) = pair(kernel), pair(options["padding"])
    (down, right), fill = pair(options.get("stride", kernel)), -np.inf if pool is MaxPool2d else 0
    padded = np.pad(x, ((0, 0), (top, top), (left, left), (0, 0)), constant_values=fill)
    windows = sliding_window_view(padded, (kh, kw), axis=(1, 2))[:, ::down, ::right]
    expected = windows.max((-2, -1)) if pool is MaxPool2d else windows.mean((-2, -1))
    net = Sequential(pool=pool(kernel, **options))
    np.testing.assert_allclose(net(Tensor(x)).data, expected, rtol=1e-6)
    graph = trace(net, (7, 6, 2))
    for form in (graph, optimize(graph)):
        np.testing.assert_allclose(Model(form)(x), expected, rtol=1e-6)
    gradcheck(net, [leaf(np.random.default_rng(1), 1, 5, 5, 1)])


@pytest.mark.parametrize(("stride", "kept"), STEPS)
@pytest.mark.parametrize("padding", [0, 1, (1, 0), "valid"])
def test_transposed_convolutions_are_cut(stride, padding, kept):
    """Each input adds its kernel; p rows are cut off, and others kept at the far end."""
    steps = (stride, stride) if isinstance(stride, int) else stride
    layer = ConvTranspose2d(
        *(2, 3, (3, 4)),
        rng=np.random.default_rng(0),
        stride=stride,
        padding=padding,
        output_padding=kept,
    )
    in_float64(layer).bias.data += [1, 2, 3]
    x = leaf(np.random.default_rng(1), 1, 3, 2, 2)
    more = (0, 0) if kept == 0 else kept
    whole = np.zeros((1, 2 * steps[0] + 3 + more[0], steps[1] + 4 + more[1], 3))
    for i in range(3):
        for j in range(2):
            part = np.einsum("c,okwc->kwo", x.data[0, i, j], layer.weight.data)
            whole[0, i * steps[0] : i * steps[0] + 3, j * steps[1] : j * steps[1] + 4] += part
    top, left = {0: (0, 0), 1: (1, 1), "valid": (0, 0)}.get(padding, padding)
    cut = whole[:, top : whole.shape[1] - top, left : whole.shape[2] - left] + [1, 2, 3]
    np.testing.assert_allclose(layer(x).data, cut, rtol=1e-9)
    graph = trace(Sequential(up=layer), (3, 2, 2))
    np.testing.assert_allclose(
        Model(optimize(graph))(x.data.astype(np.float32)), cut, rtol=1e-4, atol=1e-5
    )
    gradcheck(layer, [x])


def bordered(rng):
    return Sequential(
        stem=Conv2d(1, 4, 3, rng=rng, stride=2, padding=1),
        relu=ReLU(),
        depthwise=DepthwiseConv2d(4, 3, rng=rng, padding=(2, 1)),
        up=ConvTranspose2d(4, 3, 3, rng=rng, stride=2, padding=1, output_padding=1),
        pool=GlobalAvgPool2d(),
        out=Linear(3, 3, rng=rng),
    )


def test_they_are_trained_for_int8_and_deployed(tmp_path):
    rng = np.random.default_rng(2)
    net, y = bordered(rng), rng.integers(0, 3, 32)
    x = (rng.normal(size=(32, 8, 8, 1)) + y[:, None, None, None]).astype(np.float32)
    model = QatModel(optimize(trace(net, (8, 8, 1))), x)
    losses = train(model, x, y, 8)
    assert losses[-1] < losses[0]
    save_tflite(model.deployed(), tmp_path / "net.tflite")
    with model.evaluating(), no_grad():
        expected = model(Tensor(x)).data
    found = Model(read_tflite(tmp_path / "net.tflite"))(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_states_are_pytorchs():
    net = bordered(np.random.default_rng(3))
    state = to_torch(net, flattened={})
    layers = [
        f"{name}.{part}" for name in ("stem", "depthwise", "up") for part in ("weight", "bias")
    ]
    assert list(state) == [*layers, "out.weight", "out.bias"]
    other = bordered(np.random.default_rng(4))
    other.load_state_dict(from_torch(other, state, flattened={}))
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], array)


def test_a_checkpoint_that_ends_with_a_border_computes_the_same():
    rng = np.random.default_rng(5)
    net = in_float64(Sequential(ReLU(), Conv2d(2, 3, 3, rng=rng, stride=2, padding=1)))
    x, again = (leaf(np.random.default_rng(6), 2, 6, 6, 2) for _ in range(2))
    gradients = []
    for y in (net(x), checkpoint(net, again)):
        (y * y).sum().backward()
        gradients.append(net[1].weight.grad)
        net.zero_grad()
    np.testing.assert_allclose(*gradients)
    np.testing.assert_allclose(x.grad, again.grad)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda r: Conv2d(1, 1, 3, rng=r, padding=-1), r"padding is -1\n[^$]*1 or \(1, 2\)"),
        (lambda r: Conv2d(1, 1, 3, rng=r, padding=(1, 1, 1)), r"padding is \(1, 1, 1\)"),
        (lambda r: Conv2d(1, 1, 3, rng=r, padding="full"), r"padding is 'full'\n[^$]*'same'"),
        (
            lambda r: DepthwiseConv2d(1, 3, rng=r, padding="same", stride=(1, 2)),
            r"padding 'same' with stride \(1, 2\)[^$]*padding=1 is PyTorch's for 3 taps",
        ),
        (lambda r: Conv1d(1, 1, 3, rng=r, padding=(1, 1)), r"padding is \(0, 1, 1\)"),
        (lambda r: ConvTranspose2d(1, 1, 3, rng=r, padding="same"), "convolution is 'same'"),
        (
            lambda r: ConvTranspose2d(1, 1, 3, rng=r, padding=1, stride=2, output_padding=2),
            "output_padding is 2 with stride 2 and padding 1",
        ),
        (
            lambda r: ConvTranspose2d(1, 1, 3, rng=r, padding=1, stride=2, output_padding=-1),
            "output_padding is -1",
        ),
        (
            lambda r: ConvTranspose2d(1, 1, 3, rng=r, stride=2, output_padding=1),
            "padding SAME\n[^$]*0 with SAME",
        ),
        (
            lambda r: ConvTranspose2d(1, 1, 2, rng=r, padding=(0, 1))(
                Tensor(np.ones((1, 2, 1, 1)))
            ),
            r"padding of \(0, 1\) cuts off all of an output of 3 by 2",
        ),
        (
            lambda r: ConvTranspose2d(1, 1, 2, rng=r, padding=(1, 0))(
                Tensor(np.ones((1, 1, 2, 1)))
            ),
            r"padding of \(1, 0\) cuts off all of an output of 2 by 3",
        ),
        (
            lambda r: MaxPool2d(2, padding=1),
            r"MaxPool2d has padding \(1, 1\) and a window of \(2, 2\)\n[^$]*as 1 for 3"
            r"[^$]*ZeroPad2d in front",
        ),
        (lambda r: MaxPool2d(3, padding=(1, 0)), r"MaxPool2d has padding \(1, 0\)"),
        (
            lambda r: AvgPool2d((4, 3), padding=2),
            r"AvgPool2d has padding \(2, 2\) and a window of \(4, 3\)\n[^$]*at most half",
        ),
        (lambda r: AvgPool2d(2, padding=-1), "padding is -1"),
        (lambda r: AvgPool2d(2, padding="same"), "AvgPool2d has padding 'same'"),
        (lambda r: ZeroPad2d(-1), "a border of -1"),
        (lambda r: ZeroPad2d((1, 2)), r"a border of \(1, 2\)"),
    ],
)
def test_what_is_no_padding_is_refused(make, says):
    with pytest.raises(ShapeError, match=says):
        make(np.random.default_rng(0))
