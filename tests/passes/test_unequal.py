"""Sizes, strides, axes and operands that differ: passes take each for what it is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tests.passes.example_parts import joined, longer, picked, power, scores
from tests.passes.misses import Made, Miss, check
from tests.passes.nets import TO_NCHW, TO_NHWC
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import ops
from tests.passes.test_every_pass import RULES, applied
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs

ROW, IMAGE, WIDE = (2, 4), (1, 6, 5, 3), (1, 6, 5, 4)
LOWEST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class Form:
    """A pass, the inputs' shapes, the outputs of a graph, and the ops that are left."""

    rule: str
    shapes: tuple[tuple[int, ...], ...]
    build: Callable[[Net], Made]
    left: list[str]


def cut(net: Net, x: str, begin, size, strides=(1, 1, 1, 1), dropped=()) -> str:
    return net.op("slice", (x,), SliceAttrs(begin, size, strides, dropped))


def window(net: Net, x: str, c_out: int, *kernel: int, **attrs) -> str:
    w = net.random(c_out, *kernel, net.channels(x))
    return net.op("conv2d", (x, w, net.random(c_out)), Conv2dAttrs(**attrs))


def turned_channels(net: Net) -> str:
    return picked(net, "x", 2, 0, 3, 1)


def among_others(net: Net, *order: int) -> str:
    """Two layers of the same input and another tensor, joined in this order."""
    parts = [net.op("abs", ("x",)), net.conv("x"), net.conv("x")]
    return joined(net, *(parts[i] for i in order), axis=-1)


def apart(net: Net, kernel: tuple[int, int], *counts: int) -> tuple[str, ...]:
    return tuple(net.op("tanh", (window(net, "x", n, *kernel),)) for n in counts)


def regrouped(net: Net, perm, after, last) -> str:
    return net.transpose(net.reshape(net.transpose("x", perm), *after), last)


def heads(net: Net, activation: str = "NONE") -> str:
    """Four heads of the second dimension, mixed to five."""
    turned = net.transpose("x", (0, 2, 3, 1))
    mixed = net.conv(turned, 5, 1, activation=activation)
    return net.transpose(mixed, (0, 3, 1, 2))


def bordered(net: Net, x: str, rows: int, columns: int, value: float = 0.0) -> str:
    pairs = ((0, 0), (rows, rows), (columns, columns), (0, 0))
    return net.op("pad", (x,), PadAttrs(pairs, value))


def pooled(net: Net, value: float) -> str:
    return net.op("max_pool2d", (bordered(net, "x", 1, 1, value),), Pool2dAttrs((3, 3), (1, 1)))


def kept_parts(net: Net) -> tuple[str, ...]:
    cuts = (net.op("slice", ("x",), SliceAttrs((i, 0, 0), (1, 3, 4), (1,) * 3)) for i in (0, 1))
    return tuple(net.op("abs", (net.transpose(part, (0, 2, 1)),)) for part in cuts)


def flat_layer(net: Net) -> str:
    pixel = net.reshape("x", 2, 1, 1, 90)
    return net.conv(pixel, 3, 1, activation="RELU")


POWERS = {0.5: ["sqrt"], -0.5: ["rsqrt"], 1.5: ["sqrt", "mul"], -1: ["div"], 2: ["mul"]}
POWERS |= {3: ["mul", "mul"], 1: []}
FORMS = {
    **{
        f"to the power of {exponent}": Form(
            "write_out_power",
            (ROW,),
            lambda net, exponent=exponent: net.op("tanh", (power(exponent)(net),)),
            ["abs", "add", *left, "tanh"],
        )
        for exponent, left in POWERS.items()
    },
    "slices in steps": Form(
        "merge_slices",
        ((1, 9, 12, 3),),
        lambda net: cut(
            net,
            cut(net, "x", (0, 1, 2, 0), (1, 4, 5, 3), (1, 2, 2, 1)),
            *((0, 1, 1, 0), (1, 2, 2, 3), (1, 2, 3, 1)),
        ),
        ["slice"],
    ),
    "sums of constants": Form(
        "merge_constants", (ROW,), lambda net: net.add(net.add("x", net.random(4)), 2.0), ["add"]
    ),
    "turned channels times a number": Form(
        "order_channels",
        (WIDE,),
        lambda net: net.conv(
            net.mul(turned_channels(net), net.constant(np.float32(3).reshape(())))
        ),
        ["gather", "mul", "conv2d"],
    ),
    "every second of turned channels": Form(
        "order_channels",
        (WIDE,),
        lambda net: net.conv(
            cut(net, turned_channels(net), (0, 0, 0, 1), (1, 6, 5, 2), (1, 1, 1, 2))
        ),
        ["gather", "gather", "conv2d"],
    ),
    "turned channels that are joined": Form(
        "order_channels",
        (WIDE,),
        lambda net: net.conv(joined(net, "x", turned_channels(net), axis=-1)),
        ["gather", "concatenation", "conv2d"],
    ),
    "every second of picked channels": Form(
        "merge_gathers",
        (WIDE,),
        lambda net: cut(net, turned_channels(net), (0, 0, 0, 1), (1, 6, 5, 2), (1, 1, 1, 2)),
        ["gather"],
    ),
    "places along the last axis but one": Form(
        "choose_shaped",
        ((2, 3, 4),),
        lambda net: net.reshape(net.op("arg_min", ("x",), ArgAttrs(-2)), 2, 2, 2),
        ["reshape", "arg_min"],
    ),
    "a clamped layer of two pixels": Form(
        "conv_as_dense", ((2, 90),), flat_layer, ["fully_connected", "reshape"]
    ),
    "functions between a layer of one pixel and a row": Form(
        "conv_as_dense",
        ((1, 1, 1, 3),),
        lambda net: net.reshape(net.op("abs", (net.op("tanh", (net.conv("x", size=1),)),)), 1, 4),
        ["fully_connected", "reshape", "tanh", "abs", "reshape"],
    ),
    "places in a turned image": Form(
        "transpose_into_mean",
        (IMAGE,),
        lambda net: net.op("arg_max", (net.transpose("x", TO_NCHW),), ArgAttrs(1)),
        ["arg_max"],
    ),
    "places of rows in a turned image": Form(
        "transpose_into_mean",
        (IMAGE,),
        lambda net: net.op("arg_max", (net.transpose("x", TO_NCHW),), ArgAttrs(2)),
        ["arg_max", "transpose"],
    ),
    "a border of the lowest number": Form(
        "fuse_pad", (IMAGE,), lambda net: pooled(net, LOWEST), ["max_pool2d"]
    ),
    "a border of rows": Form(
        "fuse_pad",
        (IMAGE,),
        lambda net: window(net, bordered(net, "x", 1, 0), 4, 3, 1, padding="VALID"),
        ["conv2d"],
    ),
    "parts that keep their dimension": Form(
        "hoist_over_parts", ((2, 3, 4),), kept_parts, ["transpose", "slice", "slice", "abs", "abs"]
    ),
    "a sum of joined rows with a vector": Form(
        "sink_join",
        ((2, 3, 4, 5), (5,)),
        lambda net: net.add(net.reshape("x", 2, 12, 5), net.op("abs", ("x1",))),
        ["abs", "reshape", "add", "reshape"],
    ),
    "siblings behind another": Form(
        "merge_siblings",
        (IMAGE,),
        lambda net: among_others(net, 0, 2, 1),
        ["abs", "conv2d", "concatenation"],
    ),
    "siblings in front of another": Form(
        "merge_siblings",
        (IMAGE,),
        lambda net: among_others(net, 1, 2, 0),
        ["abs", "conv2d", "concatenation"],
    ),
    "siblings around another": Form(
        "merge_siblings",
        (IMAGE,),
        lambda net: among_others(net, 1, 0, 2),
        ["abs", "conv2d", "slice", "slice", "concatenation"],
    ),
    **{
        f"as much to split as to gather, of {kernel}": Form(
            "merge_siblings",
            (IMAGE,),
            lambda net, kernel=kernel, counts=counts: apart(net, kernel, *counts),
            ["conv2d", *["slice"] * len(counts), *["tanh"] * len(counts)],
        )
        for kernel, counts in {
            (1, 1): (3, 3),
            (2, 1): (6, 6),
            (1, 2): (6, 6),
            (3, 2): (18, 18),
        }.items()
    },
    "three that are as much": Form(
        "merge_siblings",
        (IMAGE,),
        lambda net: apart(net, (1, 1), 4, 4, 4),
        ["conv2d", *["slice"] * 3, *["tanh"] * 3],
    ),
    "six dimensions": Form(
        "merge_around_regroup",
        ((6, 6, 6),),
        lambda net: regrouped(net, (1, 0, 2), (2, 6, 6, 3), (1, 0, 2, 3)),
        ["reshape", "transpose", "reshape"],
    ),
    "heads as large as their weights": Form(
        "mix_heads",
        ((1, 4, 16, 8),),
        lambda net: heads(net, "RELU"),
        ["reshape", *["depthwise_conv2d"] * 5, "concatenation", "reshape"],
    ),
    "a clamp around a grid below zero": Form(
        "clamp_before_quantiser",
        (ROW,),
        lambda net: net.op(
            "relu6", (net.op("fake_quantize", ("x",), FakeQuantizeAttrs(0.35, 127)),)
        ),
        ["relu6", "fake_quantize"],
    ),
    "rows of columns": Form(
        "turn_input",
        ((2, 3, 5),),
        lambda net: net.softmax(net.transpose("x", (0, 2, 1))),
        ["transpose", "softmax"],
    ),
    "columns of rows": Form(
        "turn_output",
        ((2, 3, 5),),
        lambda net: net.transpose(net.softmax("x"), (0, 2, 1)),
        ["softmax", "transpose"],
    ),
    "an input that a mean reads, too": Form(
        "turn_input",
        ((1, 3, 6, 5),),
        lambda net: (
            net.conv(net.transpose("x", TO_NHWC)),
            net.op("mean", ("x",), MeanAttrs((2, 3))),
        ),
        ["transpose", "transpose", "conv2d", "mean"],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_pass_applies(name):
    form = FORMS[name]
    net = Net(*form.shapes)
    made = form.build(net)
    graph = net.graph(*([made] if isinstance(made, str) else made))
    after, log = applied(graph, RULES[form.rule], REMOVE_DEAD)
    assert form.rule in {rule for rule, _ in log.applied}
    assert ops(after) == form.left


def norm_of(net: Net, x: str, *shape: int) -> str:
    """A normalisation whose mean is computed."""
    mean = net.op("mean", ("x",), MeanAttrs(tuple(range(len(shape) - 1))))
    parameters = [net.random(shape[-1]) for _ in range(3)]
    return net.op("batch_norm", (x, *parameters[:2], mean, parameters[2]), NORM)


NORM = BatchNormAttrs()
MISSES = {
    "a clamp between constants": Miss(
        "merge_constants",
        (ROW,),
        lambda net: net.mul(net.op("mul", ("x", net.number(2.0)), MulAttrs("RELU")), 3.0),
        "'mul_0' has a fused RELU",
    ),
    "turned biases": Miss(
        "order_channels",
        (ROW, (4,)),
        lambda net: net.op(
            "fully_connected",
            ("x", net.random(4, 4), picked(net, "x1", 2, 0, 3, 1, axis=0)),
            FullyConnectedAttrs(),
        ),
        "needs the channels in their order",
    ),
    "a sum in front of a border of columns": Miss(
        "fold_before",
        (IMAGE,),
        lambda net: window(net, net.add("x", -0.5), 4, 1, 3),
        "is not in its border of zeros",
    ),
    "picked rows, each turned": Miss(
        "merge_gathers",
        (ROW,),
        lambda net: net.op(
            "slice", (picked(net, "x", 1, 0, axis=0),), SliceAttrs((0, 3), (2, 4), (1, -1))
        ),
        "along the axis",
    ),
    "a sum in front of a border behind": Miss(
        "fold_before",
        (IMAGE,),
        lambda net: window(net, net.add("x", -0.5), 4, 1, 2),
        "is not in its border of zeros",
    ),
    "a sum in front of a border of rows": Miss(
        "fold_before",
        (IMAGE,),
        lambda net: window(net, net.add("x", -0.5), 4, 3, 1),
        "is not in its border of zeros",
    ),
    "a computed norm in front of a layer": Miss(
        "fold_before", (ROW,), lambda net: net.dense(norm_of(net, "x", *ROW))
    ),
    "a computed norm of what is reshaped": Miss(
        "sink_reshape",
        (ROW,),
        lambda net: norm_of(net, net.reshape("x", 1, 2, 4), *ROW),
        "changes what its constant applies to",
    ),
    "a border just above the lowest number": Miss(
        "fuse_pad",
        (IMAGE,),
        lambda net: pooled(net, float(np.nextafter(np.float32(LOWEST), np.float32(0)))),
        "is filled with",
    ),
    "a border beside that of a window": Miss(
        "fuse_pad",
        (IMAGE,),
        lambda net: window(net, bordered(net, "x", 1, 0), 4, 5, 1),
        "pads (3, 0) before",
    ),
    "layers of other windows": Miss(
        "merge_siblings",
        (IMAGE,),
        lambda net: (window(net, "x", 4, 3, 3), window(net, "x", 4, 1, 3)),
    ),
    **{
        f"more to split than to gather, of {kernel}": Miss(
            "merge_siblings",
            (IMAGE,),
            lambda net, kernel=kernel, counts=counts: apart(net, kernel, *counts),
            "would cost more",
        )
        for kernel, counts in {(1, 1): (3, 4), (2, 1): (6, 7), (1, 2): (7, 6)}.items()
    },
    "seven dimensions": Miss(
        "merge_around_regroup",
        ((6, 6, 6, 2),),
        lambda net: regrouped(net, (1, 0, 2, 3), (2, 6, 6, 6), (1, 0, 2, 3)),
        "it would have to move 7 dimensions at once",
    ),
    "small heads": Miss(
        "mix_heads", ((1, 4, 1, 5),), heads, "weights of windows would take more bytes"
    ),
    "heads a bit too small": Miss(
        "mix_heads", ((1, 4, 15, 8),), heads, "weights of windows would take more bytes"
    ),
    "a factor of zero": Miss(
        "scale_through_product",
        ((1, 3, 4),),
        lambda net: scores(net, 0.0),
        "the factor 0 is not above 0",
    ),
    "a border that loses a dimension": Miss(
        "sink_pad", ((1, 6, 1),), lambda net: net.reshape(longer(net), 1, 9), "more than insert"
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_the_pass_leaves_it(name):
    check(MISSES[name])
