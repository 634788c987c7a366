"""States between PyTorch's layouts and ours: the same answers, back to the same bits, refusals."""

import numpy as np
import pytest

from tinyrt.errors import DataError, ShapeError, UnsupportedError
from tinyrt.train import Tensor
from tinyrt.train.bidirectional import Bidirectional
from tinyrt.train.functional import cat
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    ConvTranspose2d,
    DepthwiseConv2d,
    Flatten,
    GlobalAvgPool2d,
    GroupNorm,
    LayerNorm,
    LeakyReLU,
    Linear,
    MaxPool2d,
    Module,
    Parameter,
    PReLU,
    ReLU,
    Sequential,
    Softmax,
)
from tinyrt.train.sequence import GRU, LSTM, Conv1d, Embedding, MultiHeadAttention
from tinyrt.train.torch_state import from_torch, to_torch


def filled(module):
    """The module with a number of its own in every element of its state."""
    count = 0
    for _, tensor in module.named_tensors():
        size = tensor.data.size
        tensor.data = np.arange(count, count + size, dtype=np.float32).reshape(tensor.shape)
        count += size
    return module


def images(rng):
    return Sequential(
        stem=Conv2d(2, 4, 3, rng=rng),
        norm=BatchNorm(4),
        act=PReLU(4),
        depthwise=DepthwiseConv2d(4, 3, multiplier=2, rng=rng),
        groups=GroupNorm(2, 8),
        up=ConvTranspose2d(8, 3, 2, stride=2, rng=rng),
        pool=MaxPool2d(2),
        flatten=Flatten(),
        relu=ReLU(),
        dense=Linear(4 * 6 * 3, 5, rng=rng),
        head=Linear(5, 2, rng=rng, bias=False),
    )


SHAPE = (4, 6, 2)


def test_layouts_are_those_of_pytorch():
    net = filled(images(np.random.default_rng(0)))
    ours, theirs = net.state_dict(), to_torch(net, input_shape=SHAPE)
    assert {k: v.shape for k, v in theirs.items()} == {
        "stem.weight": (4, 2, 3, 3),
        "stem.bias": (4,),
        "norm.weight": (4,),
        "norm.bias": (4,),
        "norm.running_mean": (4,),
        "norm.running_var": (4,),
        "norm.num_batches_tracked": (),
        "act.weight": (4,),
        "depthwise.weight": (8, 1, 3, 3),
        "depthwise.bias": (8,),
        "groups.weight": (8,),
        "groups.bias": (8,),
        "up.weight": (8, 3, 2, 2),
        "up.bias": (3,),
        "dense.weight": (5, 72),
        "dense.bias": (5,),
        "head.weight": (2, 5),
    }
    assert theirs["stem.weight"][3, 1, 2, 0] == ours["stem.weight"][3, 2, 0, 1]
    assert theirs["depthwise.weight"][7, 0, 2, 1] == ours["depthwise.weight"][0, 2, 1, 7]
    assert theirs["up.weight"][6, 2, 1, 0] == ours["up.weight"][2, 1, 0, 6]
    read = ours["dense.weight"].reshape(5, 4, 6, 3)  # h, w, c
    assert theirs["dense.weight"].reshape(5, 3, 4, 6)[4, 2, 3, 1] == read[4, 3, 1, 2]
    for name in ("norm.running_var", "act.weight", "groups.bias", "head.weight"):
        own = {"norm.running_var": "norm.variance", "act.weight": "act.slope"}
        own |= {"groups.bias": "groups.beta", "head.weight": "head.weight"}
        np.testing.assert_array_equal(theirs[name], ours[own[name]])


def series(rng):
    return Sequential(
        embed=Embedding(7, 4, rng=rng),
        conv=Conv1d(4, 6, 3, rng=rng),
        norm=LayerNorm(6),
        attention=MultiHeadAttention(6, 2, rng=rng),
        lstm=Bidirectional(LSTM(6, 3, rng=rng), LSTM(6, 3, rng=rng)),
        gru=GRU(6, 2, rng=rng),
        back=LSTM(2, 2, rng=rng),
    )


def test_layouts_of_layers_for_series():
    net = filled(series(np.random.default_rng(0)))
    ours, theirs = net.state_dict(), to_torch(net)
    assert theirs["conv.weight"].shape == (6, 4, 3)
    assert theirs["conv.weight"][5, 3, 2] == ours["conv.conv.weight"][5, 0, 2, 3]
    parts = [ours[f"attention.{k}.weight"] for k in ("query", "key", "value")]
    np.testing.assert_array_equal(theirs["attention.in_proj_weight"], np.concatenate(parts))
    np.testing.assert_array_equal(theirs["attention.out_proj.bias"], ours["attention.output.bias"])
    i, f, o, g = np.split(ours["lstm.back.state.weight"], 4)
    np.testing.assert_array_equal(theirs["lstm.weight_hh_l0_reverse"], np.concatenate([i, f, g, o]))
    i, f, o, g = np.split(ours["lstm.ahead.input.bias"], 4)
    np.testing.assert_array_equal(theirs["lstm.bias_ih_l0"], np.concatenate([i, f, g, o]))
    np.testing.assert_array_equal(theirs["gru.weight_ih_l0"], ours["gru.input.weight"])


@pytest.mark.parametrize(("make", "shape"), [(images, SHAPE), (series, None)])
def test_there_and_back_gives_the_same_bits(make, shape):
    net = filled(make(np.random.default_rng(0)))
    before = net.state_dict()
    state = from_torch(net, to_torch(net, input_shape=shape), input_shape=shape)
    filled(net).load_state_dict(state)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_layers_without_a_bias_have_none_there():
    rng = np.random.default_rng(0)
    net = Sequential(
        series=Conv1d(2, 4, 3, rng=rng, bias=False),
        image=Conv2d(4, 4, 3, rng=rng, bias=False),
        channels=DepthwiseConv2d(4, 3, rng=rng, bias=False),
        up=ConvTranspose2d(4, 3, 2, rng=rng, bias=False),
    )
    theirs = to_torch(net)
    assert list(theirs) == [f"{name}.weight" for name in ("series", "image", "channels", "up")]
    before = net.state_dict()
    state = from_torch(net, theirs)
    assert state.keys() == before.keys()
    for name, array in state.items():
        np.testing.assert_array_equal(array, before[name])


def test_a_series_that_was_flattened_is_told_by_name():
    rng = np.random.default_rng(0)
    net = filled(Sequential(conv=Conv1d(2, 3, 3, rng=rng), f=Flatten(), d=Linear(12, 2, rng=rng)))
    with pytest.raises(DataError, match=r"'d.weight' reads \(4, 3\) that were flattened, and"):
        to_torch(net, input_shape=(4, 2))
    plain, turned = to_torch(net, flattened={}), to_torch(net, flattened={"d": (4, 3)})
    np.testing.assert_array_equal(plain["d.weight"], net.state_dict()["d.weight"])
    np.testing.assert_array_equal(
        turned["d.weight"].reshape(2, 3, 4), plain["d.weight"].reshape(2, 4, 3).swapaxes(1, 2)
    )


def test_one_pixel_and_a_mean_have_one_order():
    rng = np.random.default_rng(0)
    pooled = Sequential(Conv2d(1, 3, 3, rng=rng), GlobalAvgPool2d(), Linear(3, 2, rng=rng))
    single = Sequential(Conv2d(1, 3, 3, rng=rng, padding="VALID"), Flatten(), Linear(3, 2, rng=rng))
    normed = Sequential(Conv2d(1, 3, 3, rng=rng, padding="VALID"), Flatten(), Linear(3, 2, rng=rng))
    normed.layers["1"] = Sequential(Flatten(), BatchNorm(3))
    for net, shape in ((pooled, (5, 5, 1)), (single, (3, 3, 1)), (normed, (3, 3, 1))):
        state = to_torch(net, input_shape=shape)
        np.testing.assert_array_equal(state["2.weight"], net.state_dict()["2.weight"])


FIRST = {
    "conv": lambda rng: Conv2d(3, 3, 1, rng=rng),
    "depthwise": lambda rng: DepthwiseConv2d(3, 1, rng=rng),
    "transposed": lambda rng: ConvTranspose2d(3, 3, 1, rng=rng),
}


@pytest.mark.parametrize("shape", [(4, 1, 3), (1, 4, 3), (2, 2, 3)])
@pytest.mark.parametrize("kind", FIRST)
def test_images_that_any_convolution_makes_have_their_channels_in_front(kind, shape):
    rng = np.random.default_rng(0)
    net = Sequential(FIRST[kind](rng), Flatten(), Linear(12, 2, rng=rng))
    own, state = net.state_dict(), to_torch(net, input_shape=shape)
    turned = own["2.weight"].reshape(2, *shape).transpose(0, 3, 1, 2).reshape(2, 12)
    np.testing.assert_array_equal(state["2.weight"], turned)
    back = from_torch(net, state, input_shape=shape)
    assert back.keys() == own.keys()
    assert all(np.array_equal(back[name], array) for name, array in own.items())
    with pytest.raises(DataError, match="may read flattened images"):
        to_torch(net)


class Rows(Module):
    """Rows of an image as the steps of a sequence."""

    def forward(self, x):
        return x.reshape(x.shape[0], x.shape[1], x.shape[3])


def test_a_recurrence_behind_images_has_one_order():
    rng = np.random.default_rng(0)
    net = Sequential(
        Conv2d(1, 3, (3, 1), rng=rng),
        Rows(),
        LSTM(3, 2, rng=rng),
        Flatten(),
        Linear(8, 2, rng=rng),
    )
    state = to_torch(net, input_shape=(4, 1, 1))
    np.testing.assert_array_equal(state["4.weight"], net.state_dict()["4.weight"])


class Beside(Module):
    """Scores of an image, and of numbers beside it."""

    def __init__(self, rng):
        self.image = Sequential(Conv2d(1, 3, 3, rng=rng), Flatten(), Linear(12, 2, rng=rng))
        self.numbers = Linear(4, 2, rng=rng)

    def forward(self, image, numbers):
        return self.image(image) + self.numbers(numbers)


def test_what_reads_an_input_is_as_it_is():
    net = Beside(np.random.default_rng(0))
    state = to_torch(net, input_shape={"image": (2, 2, 1), "numbers": (4,)})
    own = net.state_dict()
    np.testing.assert_array_equal(state["numbers.weight"], own["numbers.weight"])
    turned = own["image.2.weight"].reshape(2, 2, 2, 3).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(state["image.2.weight"], turned.reshape(2, 12))


class Of(Module):
    """A function of what is read."""

    def __init__(self, function):
        self.forward = function


EACH = np.arange(12, dtype=np.float32)
BETWEEN = {
    "an activation": (ReLU, True),
    "one factor": (lambda: Sequential(Of(lambda x: x * 0.5), LeakyReLU()), True),
    "a factor for each": (lambda: Of(lambda x: x * EACH), False),
    "one number less each": (lambda: Of(lambda x: 2 - x), True),
    "a number less each": (lambda: Of(lambda x: EACH - x), False),
    "a slope for each": (lambda: PReLU(12), False),
    "shares of all": (Softmax, False),
    "a sum": (lambda: Of(lambda x: x + x.relu()), False),
}


@pytest.mark.parametrize("case", BETWEEN.values(), ids=BETWEEN)
def test_what_lies_behind_a_flattening_must_treat_all_alike(case):
    make, direct = case
    rng = np.random.default_rng(0)
    net = Sequential(Conv2d(1, 3, 3, rng=rng), Flatten(), make(), Linear(12, 2, rng=rng))
    if direct:
        own, state = net.state_dict()["3.weight"], to_torch(net, input_shape=(2, 2, 1))
        turned = own.reshape(2, 2, 2, 3).transpose(0, 3, 1, 2).reshape(2, 12)
        np.testing.assert_array_equal(state["3.weight"], turned)
        return
    with pytest.raises(DataError) as refused:
        to_torch(net, input_shape=(2, 2, 1))
    assert refused.value.problem == (
        "'3.weight' reads (2, 2, 3) that were flattened, but not directly"
    )
    assert refused.value.op.startswith("reshape '")


class Branches(Module):
    """A dense layer that reads an image flattened and what another makes of numbers, or these in
    turn: the order of the image's channels matters behind a layer, too."""

    def __init__(self, *, image_first):
        rng = np.random.default_rng(0)
        self.image = Sequential(Conv2d(1, 3, 3, rng=rng), Flatten())
        self.numbers, self.out = Linear(4, 2, rng=rng), Linear(14, 2, rng=rng)
        self.image_first = image_first

    def forward(self, image, numbers):
        parts = self.image(image), self.numbers(numbers)
        return self.out(cat(parts if self.image_first else parts[::-1], axis=1))


@pytest.mark.parametrize("image_first", [True, False])
def test_all_that_a_dense_layer_reads_is_looked_at(image_first):
    net = Branches(image_first=image_first)
    with pytest.raises(DataError, match=r"'out.weight' reads \(2, 2, 3\) that were flattened, but"):
        to_torch(net, input_shape={"image": (2, 2, 1), "numbers": (4,)})


class Own(Module):
    def __init__(self):
        self.scale = Parameter(np.ones(3, np.float32))


class Half(Linear):
    """Not what PyTorch has under the name of its base."""

    def forward(self, x):
        return super().forward(x) * 0.5


def refused():
    rng = np.random.default_rng(0)
    conv = Conv2d(1, 3, 3, rng=rng)
    net = Sequential(conv=conv, flatten=Flatten(), dense=Linear(12, 2, rng=rng))
    normed = Sequential(conv, Flatten(), BatchNorm(12), Linear(12, 2, rng=rng))
    state, image = to_torch(net, input_shape=(2, 2, 1)), {"input_shape": (2, 2, 1)}
    less = {k: v for k, v in state.items() if k != "dense.bias"}
    small = state | {"conv.weight": np.zeros((3, 1, 3, 2), np.float32)}
    flat = state | {"conv.weight": state["conv.weight"].reshape(27)}
    turned = state | {"dense.weight": state["dense.weight"].T}
    half = Sequential(half=Half(2, 2, rng=rng))
    mixed = Bidirectional(LSTM(2, 2, rng=rng), Linear(2, 2, rng=rng))
    return {
        "image": (net, state, {}, DataError, "input_shape, to see it by"),
        "norm": (normed, {}, image, DataError, r"reads \(2, 2, 3\) that were flattened, but not"),
        "name": (net, less | {"x": 1}, image, DataError, r"missing \['dense.bias'\].*\['x'\]"),
        "shape": (net, small, image, ShapeError, r"'conv.weight' has shape \(3, 1, 3, 2\)"),
        "flat": (net, flat, image, ShapeError, r"'conv.weight' has shape \(27,\)"),
        "turned": (net, turned, image, ShapeError, r"'dense.weight' has shape \(12, 2\)"),
        "size": (net, state, {"flattened": {"dense": (2, 3, 3)}}, ShapeError, "reads 12 elements"),
        "layer": (net, state, {"flattened": {"dens": (2, 2, 3)}}, DataError, "dense layer 'dens'"),
        "own": (Sequential(own=Own()), {}, {}, UnsupportedError, "has for 'own.scale' is not"),
        "half": (half, {}, {}, UnsupportedError, "PyTorch has for 'half.weight' is not"),
        "ends": (Sequential(both=mixed), {}, {}, UnsupportedError, "no 'both' with a Linear"),
    }


REFUSED = (
    *("image", "norm", "name", "shape", "flat", "turned", "size", "layer", "own", "ends", "half"),
)
"""By name, since loops would be compiled for networks while tests are collected."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_wrong_is_refused(name):
    cases = refused()
    assert cases.keys() == {*REFUSED}
    module, state, options, error, said = cases[name]
    with pytest.raises(error, match=said):
        from_torch(module, state, **options)


def test_answers_are_those_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    nn, rng = torch.nn, np.random.default_rng(0)
    twin = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.PReLU(4),
        nn.Conv2d(4, 8, 3, padding=1, groups=4),
        nn.ConvTranspose2d(8, 3, 2, stride=2),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.ReLU(),
        nn.Linear(4 * 6 * 3, 5),
    ).eval()
    net = Sequential(
        Conv2d(2, 4, 3, rng=rng),
        BatchNorm(4, epsilon=1e-5),
        PReLU(4),
        DepthwiseConv2d(4, 3, multiplier=2, rng=rng),
        ConvTranspose2d(8, 3, 2, stride=2, rng=rng),
        MaxPool2d(2),
        Flatten(),
        ReLU(),
        Linear(4 * 6 * 3, 5, rng=rng),
    ).eval()
    x = rng.normal(size=(3, *SHAPE)).astype(np.float32)
    net.load_state_dict(from_torch(net, twin.state_dict(), input_shape=SHAPE))
    images_first = torch.from_numpy(np.moveaxis(x, 3, 1).copy())
    np.testing.assert_allclose(
        net(Tensor(x)).data, twin(images_first).detach().numpy(), rtol=1e-4, atol=1e-5
    )
    state = {k: torch.from_numpy(v) for k, v in to_torch(net, input_shape=SHAPE).items()}
    assert not any(twin.load_state_dict(state))

    pair = nn.LSTM(3, 4, batch_first=True, bidirectional=True)
    ours = Bidirectional(LSTM(3, 4, rng=rng), LSTM(3, 4, rng=rng))
    ours.load_state_dict(from_torch(ours, pair.state_dict()))
    s = rng.normal(size=(2, 5, 3)).astype(np.float32)
    np.testing.assert_allclose(
        ours(Tensor(s)).data, pair(torch.from_numpy(s))[0].detach().numpy(), rtol=1e-4, atol=1e-6
    )
