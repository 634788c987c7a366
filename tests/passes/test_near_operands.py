"""An operand, a fused activation or a stride differs from what a pass asks for, nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.passes.example_parts import chosen, compared, grid
from tests.passes.examples_heads import heads_of_cuts, wide
from tests.passes.misses import Miss, check, read_twice
from tests.passes.nets import TO_NHWC
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tests.passes.test_every_pass import RULES
from tinyrt.convert.passes.layouts import _rows, groups_of
from tinyrt.convert.passes.patterns import number, products_with, scaled
from tinyrt.convert.passes.quantizers import _selects
from tinyrt.ir import DType
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs

ROW, IMAGE = (2, 4), (1, 6, 6, 4)


def mean(net: Net, x: str) -> str:
    return net.op("mean", (x,), MeanAttrs((-1,), keep_dims=True))


def variance(net: Net, of: str, square: MulAttrs | None = None) -> str:
    squares = net.op("mul", (of, of), square or MulAttrs())
    return net.op("sub", (mean(net, squares), net.op("square", (mean(net, "x"),))), AddAttrs())


def of_sums(net: Net, share: float) -> str:
    """The mean of squares, less the square of the sum times a number."""
    total = net.op("sum", ("x",), ReduceAttrs((-1,), keep_dims=True))
    mean_of_squares = mean(net, net.op("square", ("x",)))
    return net.op("sub", (mean_of_squares, net.op("square", (net.mul(total, share),))), AddAttrs())


def by_cube(net: Net, cube: str) -> str:
    """A GELU by tanh of x and of something that should be its cube."""
    total = net.add("x", net.mul(cube, 0.044715))
    tanh = net.op("tanh", (net.mul(total, math.sqrt(2 / math.pi)),))
    return net.mul(net.mul("x", net.add(tanh, 1.0)), 0.5)


def cube_of(net: Net, x: str, y: str, z: str) -> str:
    return net.mul(x, net.mul(y, z))


def vector(net: Net, *numbers: float) -> str:
    return net.constant(np.array(numbers, np.float32))


def gated_by_vector(net: Net) -> str:
    gate = net.op("add", ("x", vector(net, 3, 2, 1, 0)), AddAttrs("RELU6"))
    return net.mul(net.mul("x", gate), 1 / 6)


def cut(net: Net, x: str, begin, size, strides=None, dropped=()) -> str:
    strides = strides or (1,) * len(size)
    return net.op("slice", (x,), SliceAttrs(begin, size, strides, dropped))


def turned_around(net: Net) -> str:
    """A convolution of an image, and one of it with its rows in the other order."""
    back = cut(net, "x", (0, 5, 0, 0), (1, 6, 6, 4), (1, -1, 1, 1))
    return net.add(net.conv("x", padding="VALID"), net.conv(back, padding="VALID"))


def cuts_of_an_output(net: Net) -> tuple[str, ...]:
    whole = net.op("tanh", ("x",))
    return wide(net, *heads_of_cuts(net, whole, 8, 8)), whole


def picked_twice(net: Net, shape: tuple[int, ...]) -> str:
    first = net.op("gather", ("x",), GatherAttrs(1, (3, 0, 2, 1), (4,)))
    return net.op("gather", (first,), GatherAttrs(1, (0, 1, 2, 3), shape))


MISSES = {
    "the squares of others": Miss(
        "centre_variance", (ROW, ROW), lambda net: variance(net, "x1"), "not of the same elements"
    ),
    "the square of more than the mean": Miss(
        "centre_variance", (ROW,), lambda net: of_sums(net, 1 / 3), "1.33333 times the mean"
    ),
    "squares that are clamped": Miss(
        "centre_variance",
        (ROW,),
        lambda net: variance(net, "x", MulAttrs("RELU6")),
        "not of the same elements",
    ),
    "the cube of another": Miss(
        "recognise_gelu", (ROW, ROW), lambda net: by_cube(net, cube_of(net, "x1", "x1", "x1"))
    ),
    "a square times another": Miss(
        "recognise_gelu", (ROW, ROW), lambda net: by_cube(net, cube_of(net, "x1", "x", "x"))
    ),
    "the third power of another": Miss(
        "recognise_gelu",
        (ROW, ROW),
        lambda net: by_cube(net, net.op("pow", ("x1", net.number(3.0)))),
    ),
    "a gate of several shifts": Miss("recognise_hard_swish", (ROW,), gated_by_vector),
    "the slope of another": Miss(
        "recognise_choice",
        (ROW, ROW),
        lambda net: chosen(net, compared(net), "x", net.mul("x1", 0.1)),
        "no product of 'x'",
    ),
    "a choice of vectors": Miss(
        "fold_into_choice",
        (ROW,),
        lambda net: net.add(chosen(net, compared(net), net.random(4), net.random(4)), 1.0),
        "is no number",
    ),
    "a choice and a vector": Miss(
        "fold_into_choice",
        (ROW,),
        lambda net: net.op(
            "add",
            (chosen(net, compared(net), net.number(1.0), net.number(2.0)), net.random(4)),
            AddAttrs(),
        ),
        "is no number",
    ),
    "places as floats": Miss(
        "choose_as",
        (ROW,),
        lambda net: net.op(
            "cast", (net.op("arg_max", ("x",), ArgAttrs(1, DType.INT32)),), CastAttrs(DType.FLOAT32)
        ),
    ),
    "rows of rows": Miss(
        "merge_gathers", (ROW,), lambda net: picked_twice(net, (2, 2)), "does not pick along"
    ),
    "a border of images": Miss(
        "fuse_pad",
        (IMAGE,),
        lambda net: net.conv(
            net.op("pad", ("x",), PadAttrs(((1, 0), (1, 1), (1, 1), (0, 0)))), padding="VALID"
        ),
        "other dimensions",
    ),
    "a border of channels": Miss(
        "fuse_pad",
        (IMAGE,),
        lambda net: net.conv(
            net.op("pad", ("x",), PadAttrs(((0, 0), (1, 1), (1, 1), (0, 1)))), padding="VALID"
        ),
        "other dimensions",
    ),
    "rows from below": Miss("merge_parallel", (IMAGE,), turned_around),
    "a cut of three dimensions": Miss(
        "drop_by_reshape", ((2, 3, 4),), lambda net: cut(net, "x", (0, 0, 0), (1, 3, 4), None, (0,))
    ),
    "pairs that lie side by side": Miss(
        "pair_softmax",
        ((3, 4, 2),),
        lambda net: net.transpose(net.softmax(net.transpose("x", (1, 0, 2))), (1, 0, 2)),
        "side by side",
    ),
    "an input that is an output": Miss(
        "turn_input",
        ((1, 3, 6, 5),),
        lambda net: (net.softmax(net.transpose("x", TO_NHWC)), "x"),
        "has other readers",
    ),
    "an input that others read as it is, of whom one may": Miss(
        "turn_input",
        ((1, 3, 6, 5),),
        lambda net: (
            net.softmax(net.transpose("x", TO_NHWC)),
            net.op("mean", ("x",), MeanAttrs((2, 3))),
            net.op("tanh", ("x",)),
        ),
        "has other readers",
    ),
    "an input that is a matrix": Miss(
        "turn_input", (ROW,), lambda net: net.softmax(net.transpose("x", (1, 0)))
    ),
    "an output that is a matrix": Miss(
        "turn_output", (ROW,), lambda net: net.transpose(net.softmax("x"), (1, 0))
    ),
    "a matrix that stays as it is": Miss(
        "turn_input", (ROW,), lambda net: net.softmax(net.transpose("x", (0, 1)))
    ),
    "a matrix that was as it is": Miss(
        "turn_output", (ROW,), lambda net: net.transpose(net.softmax("x"), (0, 1))
    ),
    "rows of picked channels": Miss(
        "gather_into_layer",
        (IMAGE,),
        lambda net: net.op("gather", (net.conv("x"),), GatherAttrs(3, (0, 1, 2, 3), (2, 2))),
    ),
    "cuts of an output": Miss("turn_heads", ((6, 16),), cuts_of_an_output),
    "a pool that clamps in front of a grid": Miss(
        "hoist_quantiser",
        (IMAGE,),
        lambda net: grid(
            net,
            net.op(
                "max_pool2d",
                (net.op("tanh", ("x",)),),
                Pool2dAttrs((2, 2), (2, 2), activation="RELU6"),
            ),
        ),
    ),
    "a number that is reshaped": Miss(
        "sink_reshape", ((),), lambda net: net.add(net.reshape("x", 1, 1), 1.0), "changes what"
    ),
    "a column and a row": Miss(
        "sink_reshapes",
        ((4,), (4,)),
        lambda net: net.add(net.reshape("x", 4, 1), net.reshape("x1", 1, 4)),
        "its operands come from shapes",
    ),
    "a number of more dimensions behind a slice": Miss(
        "hoist_over_slice",
        (IMAGE,),
        lambda net: net.mul(
            cut(net, net.conv("x"), (0, 1, 0, 0), (1, 3, 6, 4)),
            net.constant(np.full((1, 1, 1, 1, 1), 0.5, np.float32)),
        ),
        "not one per channel",
    ),
    "numbers of more dimensions in front of a layer": Miss(
        "fold_before",
        ((4,),),
        lambda net: net.dense(net.add("x", net.random(2, 4))),
        "not one per channel",
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_the_pass_leaves_it(name):
    check(MISSES[name])


CUTS = {
    "rows backwards": SliceAttrs((0, 5, 0, 1), (1, 6, 6, 2), (1, -1, 1, 1)),
    "dropped": SliceAttrs((0, 0, 0, 1), (1, 6, 6, 2), (1, 1, 1, 1), (0,)),
    "some rows": SliceAttrs((0, 1, 0, 1), (1, 4, 6, 2), (1, 1, 1, 1)),
    "one channel, dropped": SliceAttrs((0, 0, 0, 1), (1, 6, 6, 1), (1, 1, 1, 1), (3,)),
}


@pytest.mark.parametrize("name", CUTS)
def test_channels_in_another_order_stay_where_a_cut_does_more(name):
    net = Net(IMAGE)
    turned = net.op("gather", ("x",), GatherAttrs(3, (3, 0, 2, 1), (4,)))
    y = net.op("slice", (net.op("abs", (turned,)),), CUTS[name])
    graph, _ = apply(net.graph(y), RULES["order_channels"])
    assert ops(graph) == ["gather", "abs", "slice"]


def test_a_number_is_a_constant_of_one_element():
    net = Net(ROW)
    one, several = net.number(3.0), vector(net, 3, 2, 1, 0)
    graph = net.graph(net.op("add", (net.mul("x", one), several), AddAttrs()))
    assert number(graph, one) == 3
    assert number(graph, several) is None
    assert number(graph, "x") is None


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_what_is_clamped_is_no_plain_product(activation):
    plain = activation == "NONE"
    net = Net(ROW, ROW)
    by_number = net.op("mul", ("x", net.number(0.5)), MulAttrs(activation))
    by_other = net.op("mul", (by_number, "x1"), MulAttrs())
    graph = net.graph(by_other)
    assert (scaled(graph, by_number) is not None) is plain
    found = [c for _, c in products_with(graph, "x", "x1")]
    assert found == ([0.5] if plain else [])


PRODUCTS = {
    "a number": (lambda net, y: net.mul(y, 3.0), [1.0, 3.0]),
    "the factor once more": (lambda net, y: net.mul(y, "x"), [1.0]),
    "another factor": (lambda net, y: net.mul(y, "x2"), [1.0]),
    "another op": (lambda net, y: net.add(y, 2.0), [1.0]),
    "its own square": (lambda net, y: net.mul(y, y), [1.0]),
    "several numbers": (lambda net, y: net.mul(y, net.random(4)), [1.0]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_with_a_factor_go_on_with_numbers_alone(name):
    behind, coefficients = PRODUCTS[name]
    net = Net(ROW, ROW, ROW)
    graph = net.graph(behind(net, net.mul("x1", "x")))
    assert [c for _, c in products_with(graph, "x1", "x")] == coefficients


SELECTING = {
    "a pool": (("max_pool2d", Pool2dAttrs((2, 2), (2, 2))), True),
    "a pool that clamps": (
        ("max_pool2d", Pool2dAttrs((2, 2), (2, 2), activation="RELU")),
        False,
    ),
    "a border of zeros": (("pad", PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0)))), True),
    "a border of ones": (("pad", PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0)), 1.0)), False),
}


@pytest.mark.parametrize("name", SELECTING)
def test_what_selects_neither_clamps_nor_fills(name):
    (op, attrs), selects = SELECTING[name]
    net = Net(IMAGE)
    graph = net.graph(net.op(op, ("x",), attrs))
    assert _selects(graph.nodes[0]) is selects


@pytest.mark.parametrize("keeps", [True, False])
def test_rows_of_a_dense_layer_may_move_where_they_stay_rows(keeps):
    net = Net((2, 3, 4))
    w = net.random(5, 4)
    y = net.op("fully_connected", ("x", w), FullyConnectedAttrs(keep_num_dims=keeps))
    graph = net.graph(y)
    found = _rows(graph, graph.nodes[0], (1, 0, 2))
    assert found == ({"x": (1, 0, 2), y: (1, 0, 2)} if keeps else None)


def test_rows_of_a_layer_with_computed_weights_may_not_move():
    """Though its bias is constant."""
    net = Net((2, 3, 4), (5, 4))
    attrs = FullyConnectedAttrs(keep_num_dims=True)
    graph = net.graph(net.op("fully_connected", ("x", "x1", net.random(5)), attrs))
    assert _rows(graph, graph.nodes[0], (1, 0, 2)) is None


def test_scalars_have_no_groups_of_dimensions():
    assert groups_of((), (1, 1)) is None
    assert groups_of((1, 1), ()) is None


def test_parts_that_others_read_as_well_are_moved_all_the_same():
    net = Net((2, 3, 4))
    parts = [net.reshape(cut(net, "x", (i, 0, 0), (1, 3, 4)), 4, 3) for i in (0, 1)]
    graph, _ = apply(
        net.graph(*read_twice(net, "x", parts[0]), parts[1]), RULES["hoist_over_parts"]
    )
    assert ops(graph).count("reshape") == 1


def test_a_constant_that_is_an_output_is_kept_when_others_have_read_it():
    net = Net(ROW)
    first = net.op("tanh", (net.random(2, 4),))
    second = net.op("abs", (first,))
    graph, _ = apply(net.graph(net.add("x", second), first), RULES["fold_constants"])
    assert ops(graph) == ["add"]
    assert graph.value(first).is_constant


def test_integers_are_divided_as_they_are():
    net = Net(ROW)
    whole = net.op("cast", ("x",), CastAttrs(DType.INT32))
    divisor = net.constant(np.full(1, 3, np.int32))
    y = net.op("cast", (net.div(whole, divisor),), CastAttrs(DType.FLOAT32))
    graph, log = apply(net.graph(y), RULES["divide_by_constant"])
    assert ops(graph) == ["cast", "div", "cast"]
    assert not log.refused


@pytest.mark.parametrize("rule", ["fold_affine", "fold_before"])
def test_an_empty_name_is_no_bias(rule):
    net = Net(IMAGE)
    x = net.add("x", net.random(4)) if rule == "fold_before" else "x"
    y = net.conv(x, bias=False, size=1)
    graph = net.graph(net.mul(y, net.random(4)) if rule == "fold_affine" else y)
    nodes = [replace(n, inputs=(*n.inputs, "")) if n.op == "conv2d" else n for n in graph.nodes]
    graph, _ = apply(verify(replace(graph, nodes=tuple(nodes))), RULES[rule])
    assert ops(graph) == ["conv2d"]
    assert graph.nodes[0].inputs[2]
