"""Which tensors have channels that can be rescaled together, and which ops tie them down."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.quantize.methods.channels import affine_constant, free_spaces

WIDTH = 4
IMAGE = (1, 4, 4, WIDTH)


def _random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _conv(b, x, activation="NONE", c_in=WIDTH, c_out=WIDTH):
    w = b.constant(_random(c_out, 1, 1, c_in))
    return b.op("conv2d", (x, w), Conv2dAttrs(activation=activation))


def _depthwise(b, x):
    w = b.constant(_random(1, 1, 1, WIDTH))
    return b.op("depthwise_conv2d", (x, w), DepthwiseConv2dAttrs())


def _free(graph):
    """The tensors of each space that may be rescaled."""
    return [set(space.tensors) for space in free_spaces(graph) if space.is_free]


@pytest.mark.parametrize(
    ("activation", "is_free"), [("NONE", True), ("RELU", True), ("RELU6", False)]
)
def test_channels_between_two_layers_are_free_unless_clamped(activation, is_free):
    b = Builder(IMAGE)
    first = _conv(b, "x", activation)
    last = _conv(b, first)
    graph = b.graph(last)
    assert _free(graph) == ([{first}] if is_free else [])
    spaces = [s for s in free_spaces(graph) if s.is_free]
    for space in spaces:
        assert [n.output.name for n in space.producers] == [first]
        assert [n.output.name for n in space.consumers] == [last]
        assert space.channels == WIDTH


@pytest.mark.parametrize("ends", [["first"], ["first", "last"]])
def test_what_the_model_puts_out_keeps_its_channels(ends):
    b = Builder(IMAGE)
    first = _conv(b, "x")
    last = _conv(b, first)
    names = {"first": first, "last": last}
    assert _free(b.graph(*(names[end] for end in ends))) == []


def _relu(b, x):
    return b.op("relu", (x,))


def _pooled(b, x):
    return b.op("max_pool2d", (x,), Pool2dAttrs((2, 2), (2, 2), "VALID"))


def _mean_over(axes, keep_dims=True):
    return lambda b, x: b.op("mean", (x,), MeanAttrs(axes, keep_dims=keep_dims))


def _tanh(b, x):
    return b.op("tanh", (x,))


def _doubled(activation):
    return lambda b, x: b.op("add", (x, x), AddAttrs(activation=activation))


def _plus_another_layer(b, x):
    return b.op("add", (x, _conv(b, "x")), AddAttrs())


def _plus_the_input(b, x):
    return b.op("add", (x, "x"), AddAttrs())


def _plus_one_channel(b, x):
    return b.op("add", (x, _conv(b, "x", c_out=1)), AddAttrs())


def _plus_a_number(b, x):
    return b.op("add", (x, b.constant(np.float32([3.0]))), AddAttrs())


def _plus_an_image(b, x):
    return b.op("add", (x, b.constant(_random(*IMAGE))), AddAttrs())


def _squared(b, x):
    return b.op("mul", (x, x), MulAttrs())


def _joined(b, x):
    return b.op("concatenation", (x, _conv(b, "x")), ConcatenationAttrs(3))


@pytest.mark.parametrize(
    ("between", "is_free"),
    [
        (_relu, True),
        (_pooled, True),
        (_mean_over((1, 2)), True),
        (_mean_over((1,)), True),
        (_mean_over((-3, -2)), True),
        (_doubled("NONE"), True),
        (_doubled("RELU"), True),
        (_plus_another_layer, True),
        (_tanh, False),
        (_mean_over((3,)), False),
        (_mean_over((-1,)), False),
        (_mean_over((1, 2, 3)), False),
        (_doubled("RELU6"), False),
        (_plus_the_input, False),
        (_plus_one_channel, False),
        (_plus_a_number, False),
        (_plus_an_image, False),
        (_squared, False),
        (_joined, False),
    ],
)
def test_ops_between_layers_pass_factors_on_or_tie_channels_down(between, is_free):
    b = Builder(IMAGE)
    first = _conv(b, "x")
    behind = between(b, first)
    c_in = b.values[behind].shape[-1]
    graph = b.graph(_conv(b, behind, c_in=c_in))
    found = [space for space in _free(graph) if first in space]
    assert bool(found) == is_free
    if is_free:
        assert behind in found[0]


def test_all_tensors_of_a_sum_are_one_space():
    b = Builder(IMAGE)
    one, other = _conv(b, "x"), _depthwise(b, "x")
    total = b.op("add", (one, other), AddAttrs())
    clipped = b.op("relu", (total,))
    graph = b.graph(_conv(b, clipped), _depthwise(b, total))
    (space,) = free_spaces(graph)
    assert set(space.tensors) == {one, other, total, clipped}
    assert {n.output.name for n in space.producers} == {one, other}
    assert {n.output.name for n in space.consumers} == set(graph.outputs)


def test_one_reader_that_ties_channels_down_is_enough():
    b = Builder(IMAGE)
    first = _conv(b, "x")
    assert _free(b.graph(_conv(b, first), _tanh(b, first))) == []


def test_a_reshape_to_other_channels_ties_them_down():
    b = Builder((1, 2, 2, WIDTH))
    first = _conv(b, "x")
    flat = b.op("reshape", (first,), ReshapeAttrs((1, 4 * WIDTH)))
    w = b.constant(_random(3, 4 * WIDTH))
    assert _free(b.graph(b.op("fully_connected", (flat, w), FullyConnectedAttrs()))) == []


@pytest.mark.parametrize(("axes", "is_free"), [((1, 2), True), ((2, 3), False), ((1, -1), False)])
def test_a_mean_over_the_channels_ties_them_down_though_as_many_are_left(axes, is_free):
    b = Builder(IMAGE)
    first = _conv(b, "x")
    mean = b.op("mean", (first,), MeanAttrs(axes))
    w = b.constant(_random(3, WIDTH))
    graph = b.graph(b.op("fully_connected", (mean, w), FullyConnectedAttrs()))
    assert _free(graph) == ([{first, mean}] if is_free else [])


def test_groups_of_channels_are_not_rescaled():
    b = Builder(IMAGE)
    first = _conv(b, "x")
    w = b.constant(_random(WIDTH, 1, 1, WIDTH // 2))
    assert _free(b.graph(b.op("conv2d", (first, w), Conv2dAttrs()))) == []


def test_a_depthwise_layer_of_more_outputs_reads_each_channel():
    b = Builder(IMAGE)
    first = _conv(b, "x")
    w = b.constant(_random(1, 1, 1, 2 * WIDTH))
    assert _free(b.graph(b.op("depthwise_conv2d", (first, w), DepthwiseConv2dAttrs()))) == [{first}]


def test_products_of_activations_tie_both_down():
    b = Builder((1, 4, WIDTH))
    w = b.constant(_random(WIDTH, WIDTH))
    dense = FullyConnectedAttrs(keep_num_dims=True)
    one, other = (b.op("fully_connected", ("x", w), dense) for _ in range(2))
    product = b.op("batch_matmul", (one, other), BatchMatmulAttrs(adj_y=True))
    assert _free(b.graph(b.op("fully_connected", (product, w), dense))) == []


# Constants per channel, as a layer norm ends


@pytest.mark.parametrize(
    ("op", "attrs", "shape", "expected"),
    [
        ("add", AddAttrs(), (WIDTH,), 1),
        ("mul", MulAttrs(), (WIDTH,), 1),
        ("mul", MulAttrs(), (1, 1, 1, WIDTH), 1),
        ("add", AddAttrs(activation="RELU"), (WIDTH,), 1),
        ("add", AddAttrs(activation="RELU6"), (WIDTH,), None),
        ("sub", AddAttrs(), (WIDTH,), None),
        ("add", AddAttrs(), (1,), None),
        ("add", AddAttrs(), (4, 1), None),
        ("add", AddAttrs(), (4, WIDTH), None),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_constants_per_channel(op, attrs, shape, expected, first):
    b = Builder(IMAGE)
    constant = b.constant(_random(*shape))
    names = (constant, "x") if first else ("x", constant)
    (node,) = b.graph(b.op(op, names, attrs)).bound()
    assert affine_constant(node) == (expected and 1 - first)


def test_a_constant_that_makes_the_tensor_larger_is_none_per_channel():
    b = Builder((1, 1, 1, 1))
    (node,) = b.graph(b.op("mul", ("x", b.constant(_random(WIDTH))), MulAttrs())).bound()
    assert affine_constant(node) is None


def test_a_product_of_two_activations_has_no_constant():
    b = Builder(IMAGE, IMAGE)
    (node,) = b.graph(b.op("mul", ("x", "x1"), MulAttrs())).bound()
    assert affine_constant(node) is None


@pytest.mark.parametrize("scales", [True, False])
def test_a_product_gives_factors_to_whatever_follows(scales):
    """Its own input keeps its channels; without a product nothing takes the factor up."""
    b = Builder(IMAGE)
    before = _tanh(b, "x")
    gamma, beta = b.constant(_random(WIDTH)), b.constant(_random(WIDTH))
    y = b.op("mul", (before, gamma), MulAttrs()) if scales else before
    shifted = b.op("add", (y, beta), AddAttrs())
    graph = b.graph(_conv(b, shifted))
    if not scales:
        assert _free(graph) == []
        return
    (space,) = [s for s in free_spaces(graph) if s.is_free]
    assert set(space.tensors) == {y, shifted}
    assert {n.output.name for n in space.affine} == {y, shifted}
    assert space.producers == ()


def test_a_product_alone_takes_factors_up():
    b = Builder(IMAGE)
    y = b.op("mul", (_tanh(b, "x"), b.constant(_random(WIDTH))), MulAttrs())
    assert _free(b.graph(_conv(b, y))) == [{y}]


def test_a_product_without_a_weighted_reader_is_not_free():
    b = Builder(IMAGE)
    product = b.op("mul", ("x", b.constant(_random(WIDTH))), MulAttrs())
    relu = _relu(b, product)
    graph = b.graph(b.op("tanh", (relu,)))
    assert _free(graph) == []


def test_channels_that_no_weighted_layer_reads_are_not_free():
    b = Builder(IMAGE)
    first = _conv(b, "x")
    _relu(b, first)
    last = _conv(b, "x")
    graph = b.graph(last)
    assert _free(graph) == []
