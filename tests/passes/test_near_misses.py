"""Layers and moves that differ from what a pass looks for in one thing: it leaves them."""

import pytest

from tests.passes.example_parts import (
    grid,
    joined,
    parts,
    shuffled_pixels,
)
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

IMAGE, ROW, KERNEL = (1, 6, 5, 3), (2, 4), (4, 3, 3, 3)


def computed_conv(net: Net, x: str = "x", activation: str = "NONE") -> str:
    """A convolution whose weights are an input of the model."""
    return net.op("conv2d", (x, "x1", net.random(4)), Conv2dAttrs(activation=activation))


def transposed_conv(net: Net, x: str = "x", c_out: int = 4) -> str:
    w = net.random(c_out, 2, 2, net.channels(x))
    return net.op("transpose_conv", (x, w), TransposeConvAttrs((6, 5)))


def cut_of(net: Net, x: str, sizes: tuple[int, ...], dropped: tuple[int, ...] = ()) -> str:
    attrs = SliceAttrs((0,) * len(sizes), sizes, (1,) * len(sizes), dropped)
    return net.op("slice", (x,), attrs)


def cut_at(net: Net, i: int) -> str:
    """The i-th part of the first dimension, which stays."""
    return net.op("slice", ("x",), SliceAttrs((i, 0, 0), (1, 3, 4), (1, 1, 1)))


def pair(net: Net) -> tuple[str, str]:
    """Two layers that are worth merging only where they are joined."""
    return net.conv("x", 12, 1), net.conv("x", 12, 1)


def grouped(net: Net) -> str:
    """Twelve filters in two groups, each of which reads two of four channels."""
    return net.op("conv2d", ("x", net.random(12, 3, 3, 2), net.random(12)), Conv2dAttrs())


MISSES = {
    "a factor of computed weights": Miss(
        "fold_affine",
        (IMAGE, KERNEL),
        lambda net: net.mul(computed_conv(net), net.random(4)),
        "the weights of 'conv2d_0' are not constant",
    ),
    "a clamp behind a transposed convolution": Miss(
        "fold_affine",
        (IMAGE,),
        lambda net: net.op("mul", (transposed_conv(net), net.random(4)), MulAttrs("RELU")),
        "which no transposed convolution does",
    ),
    "a computed norm of a layer": Miss(
        "fold_batchnorm",
        (IMAGE, (4,)),
        lambda net: net.op(
            "batch_norm",
            (net.conv("x"), net.random(4), "x1", net.random(4), net.random(4)),
            BatchNormAttrs(),
        ),
        "its parameters are not constant",
    ),
    "a factor in front of computed weights": Miss(
        "fold_before",
        (IMAGE, KERNEL),
        lambda net: computed_conv(net, net.mul("x", net.random(3))),
        "its weights are not constant",
    ),
    "a factor in front of rows of several pixels": Miss(
        "fold_before",
        ((2, 3),),
        lambda net: net.dense(net.mul("x", net.random(3)), columns=6),
        "does not read the channels",
    ),
    "a shift in front of a transposed convolution": Miss(
        "fold_before",
        (IMAGE,),
        lambda net: transposed_conv(net, net.add("x", net.random(3))),
        "is not in its border of zeros",
    ),
    "parts turned along the axis of the cut": Miss(
        "hoist_over_parts",
        ((2, 3, 4),),
        lambda net: tuple(
            net.op("abs", (net.transpose(cut_at(net, i), (1, 0, 2)),)) for i in (0, 1)
        ),
        "turned along the axis that is cut",
    ),
    "parts of many dimensions": Miss(
        "hoist_over_parts",
        ((2, 3, 4),),
        lambda net: parts(net, (1, 3, 1, 2, 1, 2), (1, 3, 1, 2, 1, 2)),
        "more than 5 dimensions",
    ),
    "a clamp behind a cut transposed convolution": Miss(
        "hoist_over_slice",
        (IMAGE,),
        lambda net: net.op("relu", (cut_of(net, transposed_conv(net), (1, 3, 5, 4)),)),
        "no transposed convolution clamps",
    ),
    "a factor behind a cut of channels": Miss(
        "hoist_over_slice",
        (IMAGE,),
        lambda net: net.mul(cut_of(net, net.conv("x"), (1, 6, 5, 2)), net.random(2)),
        "cuts channels, or drops dimensions",
    ),
    "a factor behind a cut that drops dimensions": Miss(
        "hoist_over_slice",
        (IMAGE,),
        lambda net: net.mul(cut_of(net, net.conv("x"), (1, 6, 5, 4), (0,)), net.random(4)),
        "cuts channels, or drops dimensions",
    ),
    "a norm behind a cut, one of whose numbers are computed": Miss(
        "hoist_over_slice",
        (IMAGE, (4,)),
        lambda net: net.op(
            "batch_norm",
            (
                cut_of(net, net.conv("x"), (1, 3, 5, 4)),
                *(net.random(4), "x1", net.random(4), net.random(4)),
            ),
            BatchNormAttrs(),
        ),
        "its constant is not one per channel",
    ),
    "a layer of one pixel in groups": Miss(
        "conv_as_dense",
        ((1, 6),),
        lambda net: net.reshape(
            net.op("conv2d", (net.reshape("x", 1, 1, 1, 6), net.random(4, 1, 1, 3)), Conv2dAttrs()),
            1,
            4,
        ),
    ),
    "a layer of one pixel whose windows reach beyond it": Miss(
        "conv_as_dense",
        ((1, 3),),
        lambda net: net.reshape(net.conv(net.reshape("x", 1, 1, 1, 3), padding="SAME"), 1, 4),
    ),
    "a layer of one pixel that becomes a line": Miss(
        "conv_as_dense",
        ((1, 1, 1, 3),),
        lambda net: net.reshape(net.conv("x", size=1), 1, 1, 4),
        "no reshape in front of it or behind it would go",
    ),
    "siblings that are rounded": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: tuple(grid(net, net.conv("x"), scale) for scale in (0.25, 0.5)),
        "rounded to grids of their own",
    ),
    "siblings one of which is rounded": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: (grid(net, net.conv("x"), 0.25), net.op("tanh", (net.conv("x"),))),
        "rounded to grids of their own",
    ),
    "siblings a later one of which is rounded": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: (net.op("tanh", (net.conv("x"),)), grid(net, net.conv("x"), 0.25)),
        "rounded to grids of their own",
    ),
    "siblings with computed weights": Miss(
        "merge_siblings",
        (IMAGE, KERNEL),
        lambda net: (net.conv("x"), computed_conv(net)),
    ),
    "a product with itself": Miss(
        "merge_siblings",
        ((4, 4),),
        lambda net: tuple(
            net.op("fully_connected", ("x", "x"), FullyConnectedAttrs()) for _ in range(2)
        ),
    ),
    "siblings joined along height": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: joined(net, *pair(net), axis=1),
        "would cost more",
    ),
    "siblings one of which is an output": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: (two := pair(net), (two[1], joined(net, *two)))[1],
        "would cost more",
    ),
    "siblings joined twice": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: (two := pair(net), joined(net, *two, two[0]))[1],
        "would cost more",
    ),
    "siblings whose filters read groups of channels": Miss(
        "merge_siblings",
        ((1, 6, 5, 4),),
        lambda net: joined(net, *(grouped(net) for _ in range(2))),
    ),
    "siblings joined with something in between": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: (two := pair(net), joined(net, two[0], "x", two[1]))[1],
        "would cost more",
    ),
    "parts that others read": Miss(
        "merge_around_regroup",
        ((1, 6, 5, 3),),
        lambda net: read_twice(
            net,
            y := net.reshape(net.transpose("x", (0, 3, 1, 2)), 9, 10),
            net.transpose(y, (1, 0)),
        ),
        "other readers",
    ),
    "parts of more dimensions than a transpose has": Miss(
        "merge_around_regroup",
        ((4, 4, 4, 4),),
        lambda net: net.transpose(
            net.reshape(net.transpose("x", (0, 2, 3, 1)), 2, 4, 4, 4, 2), (4, 3, 2, 1, 0)
        ),
        "8 dimensions at once",
    ),
    "a transpose that others read": Miss(
        "sink_transpose",
        ((1, 6, 4),),
        lambda net: read_twice(net, y := net.transpose("x", (0, 2, 1)), net.reshape(y, 1, 1, 4, 6)),
        "other readers",
    ),
    "a join that an output is": Miss(
        "sink_join",
        (IMAGE,),
        lambda net: (y := net.reshape("x", 1, 30, 3), net.add(y, y)),
        "joined",
    ),
    "a join that a layer reads, too": Miss(
        "sink_join",
        (IMAGE,),
        lambda net: (y := net.reshape("x", 1, 30, 3), net.add(y, y), net.dense(y, 2))[1:],
        "joined",
    ),
    "a join that becomes larger": Miss(
        "sink_join",
        (IMAGE, (2, 30, 3)),
        lambda net: net.add(net.reshape("x", 1, 30, 3), "x1"),
        "it makes its operand larger",
    ),
    "a join beside a row": Miss(
        "sink_join",
        (IMAGE, (1, 30, 1)),
        lambda net: net.add("x1", net.reshape("x", 1, 30, 3)),
        "differ along what is joined",
    ),
    "a join that splits, too": Miss(
        "sink_join", (IMAGE, (1,)), lambda net: net.add(net.reshape("x", 10, 9), "x1")
    ),
    "the mean of a split": Miss(
        "sum_parts",
        (IMAGE,),
        lambda net: net.op("mean", (net.reshape("x", 2, 3, 5, 3),), MeanAttrs((1,))),
    ),
    "pairs that are read side by side": Miss(
        "pair_softmax",
        ((1, 2, 5, 4),),
        lambda net: net.op("abs", (net.softmax(net.transpose("x", (0, 2, 3, 1))),)),
        "to lie side by side",
    ),
    "scaled pairs": Miss(
        "pair_softmax",
        ((1, 2, 5, 4),),
        lambda net: net.transpose(
            net.op("softmax", (net.transpose("x", (0, 2, 3, 1)),), SoftmaxAttrs(2.0)), (0, 3, 1, 2)
        ),
        "scales its input",
    ),
    "triples": Miss(
        "pair_softmax",
        ((1, 3, 5, 4),),
        lambda net: net.transpose(net.softmax(net.transpose("x", (0, 2, 3, 1))), (0, 3, 1, 2)),
    ),
    "grouped pixels": Miss(
        "pixel_shuffle",
        ((1, 6, 5, 4),),
        lambda net: shuffled_pixels(
            net,
            grouped(net),
        ),
        "computes its channels in groups",
    ),
    "pixels of computed weights": Miss(
        "pixel_shuffle",
        (IMAGE, (12, 3, 3, 3)),
        lambda net: shuffled_pixels(
            net, net.op("conv2d", ("x", "x1", net.random(12)), Conv2dAttrs())
        ),
        "the weights of 'conv2d_0' are not constant",
    ),
    "a clamp behind a rounding that is an output": Miss(
        "clamp_before_quantiser",
        (ROW,),
        lambda net: (y := grid(net, "x"), net.op("relu", (y,))),
        "other readers",
    ),
    "a rounding of what is rounded": Miss(
        "hoist_quantiser",
        (IMAGE,),
        lambda net: grid(net, net.transpose(grid(net, "x"), (0, 2, 1, 3)), 0.5),
    ),
    "a rounding of a moved input": Miss(
        "hoist_quantiser", (IMAGE,), lambda net: grid(net, net.transpose("x", (0, 2, 1, 3)))
    ),
}


@pytest.mark.parametrize("miss", MISSES.values(), ids=MISSES)
def test_the_pass_leaves_it_and_says_why(miss):
    check(miss)
