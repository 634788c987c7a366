"""Layers whose weights are in parts are put together for kernels that take them whole."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.c.wide_layers import chain, feeds, grouped, net, of_all_kinds
from tests.c.wide_layers import depthwise as depthwise_of
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.backends.c.blocks.more import with_more
from tinyrt.backends.c.blocks.words import fit_halves
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.mve.depthwise import fit_in_pairs, pairs_of
from tinyrt.backends.c.rejoined import rejoined
from tinyrt.errors import ShapeError
from tinyrt.export import ExportOptions
from tinyrt.export.bundle import for_request
from tinyrt.export.request import Request
from tinyrt.ir import DType, Node, TensorType
from tinyrt.ops import OPS, verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.slice import SliceAttrs

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 9))
EDGES = st.sampled_from([-255, -129, -128, -127, -1, 0, 1, 127, 128, 255, 300])


@settings(max_examples=sampled(60, 300), deadline=None)
@given(w=SHAPES.flatmap(lambda shape: arrays(np.int16, shape, elements=EDGES)))
def test_taps_that_are_read_again_hold_what_a_half_has_no_room_for(w):
    weights, taps = with_more(w)
    assert fit_halves(weights)
    whole = weights[:, : w.shape[1]].astype(np.int32)
    np.add.at(whole, (slice(None), taps), weights[:, w.shape[1] :].astype(np.int32))
    np.testing.assert_array_equal(whole, w)


def test_one_wide_weight_takes_one_tap_more():
    w = np.zeros((4, 20), np.int16)
    w[2, 7] = 140
    weights, taps = with_more(w)
    assert taps.tolist() == [7]
    assert weights[2, [7, 20]].tolist() == [127, 13]


def test_the_least_weight_above_a_negative_one_takes_one_tap_more():
    w = np.array([[-1, 0, -3], [-128, -128, 5]], np.int8)
    weights, taps = with_more(w)
    assert taps.tolist() == [0]
    assert weights.tolist() == [[-1, 0, -3, 0], [-127, -128, 5, -1]]


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("seed", sampled([0], [0, 1]))
def test_whole_layers_answer_as_their_parts(core, seed):
    graph, target = net(seed, 40), kernels_for(core).target
    whole = rejoined(graph, target)
    wide = [n for n in whole.bound() if len(n.inputs) > 1 and n.input(1).dtype is DType.INT16]
    assert {n.op for n in wide} == {"conv2d", "depthwise_conv2d"}
    names = [choose(n, target).name for n in wide]
    assert all("_more_" in name or "_wide_" in name for name in names)
    data = feeds(graph, 7)
    for expected, found in zip(
        evaluate(graph, data).values(), evaluate(whole, data).values(), strict=True
    ):
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_nothing_is_copied_in_a_chain(core):
    graph = rejoined(chain(3), kernels_for(core).target)
    assert not {"concatenation", "slice", "reshape"} & {n.op for n in graph.nodes}


@pytest.mark.parametrize("isa", [InstructionSet.AVX2, InstructionSet.AVX512])
def test_other_kernels_take_the_parts(isa):
    graph = chain(3)
    assert rejoined(graph, Target(isa)) is graph


@pytest.mark.parametrize(
    ("weights", "pairs"),
    [
        ({0: -128, 8: -127}, True),
        ({0: 200, 1: 55}, True),
        ({0: 200, 1: 57}, False),
        ({0: -203, 1: -60}, False),
        ({0: -203, 1: 50}, True),
        ({2: 200, 3: 200}, False),
        ({2: 200, 5: 200}, False),
        ({0: 255, 8: 255}, True),
        ({1: 255, 7: 255}, True),
    ],
)
def test_sums_of_two_products_fit_in_16_bits(weights, pairs):
    """By all that two int8 of a pair can be, of taps that kernels add."""
    w = np.zeros((1, 9, 8), np.int16)
    for tap, weight in weights.items():
        w[0, tap, 3] = weight
    assert fit_in_pairs(w, pairs_of((3, 3))) is pairs


def test_int8_weights_fit_but_for_two_of_the_least():
    w = np.full((1, 9, 8), -127, np.int8)
    w[0, 4, 2] = -128
    assert fit_in_pairs(w, pairs_of((3, 3)))
    w[0, 8, 2] = -128
    assert not fit_in_pairs(w, pairs_of((3, 3)))


def test_what_others_read_of_the_parts_stays():
    graph = chain(3)
    joined = next(n.output for n in graph.nodes if n.op == "concatenation")
    graph = replace(graph, outputs=(*graph.outputs, joined))
    kept = [n.op for n in rejoined(graph, kernels_for("cortex-m4").target).nodes]
    assert kept.count("concatenation") == 1


CORES = ["cortex-m0", "cortex-m4", "cortex-m55"]


@pytest.mark.parametrize("core", CORES)
def test_convolutions_that_get_other_weights_are_whole(core):
    """Those of weights that fit int8, too: later ones may not."""
    request = Request.of(core, "balanced", ExportOptions(blob=True))
    for graph in (of_all_kinds(128, relu=False), of_all_kinds(20, relu=False)):
        whole = for_request(graph, request)
        assert not {"concatenation", "slice"} & {n.op for n in whole.nodes}
        layers = [n for n in whole.bound() if n.op.endswith("conv2d")]
        assert {n.input(1).dtype for n in layers} == {DType.INT16}


@pytest.mark.parametrize("core", CORES[:2])
@pytest.mark.parametrize("seed", sampled([1], [0, 1]))
def test_whole_groups_answer_as_their_parts(core, seed):
    graph, target = grouped(seed, 40), kernels_for(core).target
    whole = rejoined(graph, target)
    wide = [n for n in whole.bound() if len(n.inputs) > 1 and n.input(1).dtype is DType.INT16]
    assert {n.op for n in wide} == {"conv2d", "depthwise_conv2d"}
    data = feeds(graph, 7)
    for expected, found in zip(
        evaluate(graph, data).values(), evaluate(whole, data).values(), strict=True
    ):
        np.testing.assert_array_equal(found, expected, strict=True)


def test_convolutions_that_are_cut_keep_their_parts():
    options = ExportOptions(slices=100_000)
    graph = for_request(chain(3), Request.of("cortex-m4", "balanced", options))
    ops = {n.op: n for n in graph.bound()}
    assert "concatenation" in ops
    assert ops["conv2d"].input(1).dtype is DType.INT8
    whole = [n.input(1).dtype for n in graph.bound() if n.op == "depthwise_conv2d"]
    assert DType.INT16 in whole


@pytest.mark.parametrize(
    ("attrs", "w"),
    [(Conv2dAttrs(), (4, 1, 1, 4)), (DepthwiseConv2dAttrs(), (1, 3, 3, 4))],
)
def test_no_file_has_such_weights(attrs, w):
    op = "conv2d" if isinstance(attrs, Conv2dAttrs) else "depthwise_conv2d"
    types = [TensorType(DType.INT8, (1, 5, 5, 4)), TensorType(DType.INT16, w)]
    with pytest.raises(ShapeError, match=r"s8\[1,5,5,4\], weights s16"):
        OPS[op].infer(attrs, types)
    assert OPS[op].infer(replace(attrs, wide=True), types) == (
        TensorType(DType.INT8, (1, 5, 5, 4)),
    )
    with pytest.raises(ShapeError, match="weights s8"):
        OPS[op].infer(replace(attrs, wide=True), [types[0], TensorType(DType.INT8, w)])


def one_depthwise(kernel):
    """A depthwise layer in parts: its graph, and the node that reads rows twice."""
    graph = depthwise_of(kernel)
    return graph, next(n for n in graph.bound() if n.op == "depthwise_conv2d")


def test_padding_of_repeated_rows_that_is_not_the_layers_own_keeps_them_apart():
    """With an even number of rows SAME pads one row: half of it above where rows are repeated."""
    graph, node = one_depthwise((2, 3))
    target = kernels_for("cortex-m4").target
    assert rejoined(graph, target) is not graph
    w = node.input(1)
    assert not w.data[:, 0].any()
    other = replace(w, data=w.data[:, 1:], shape=w.data[:, 1:].shape)
    graph = replace(graph, values={**graph.values, w.name: other})
    assert rejoined(graph, target) is graph


def test_rows_of_other_numbers_keep_their_parts():
    """A row of weights above that is not zero, and rows that are no multiple of the parts."""
    graph, node = one_depthwise((2, 3))
    w = node.input(1)
    data = w.data.copy()
    data[:, 0] = 1
    graph = replace(graph, values={**graph.values, w.name: replace(w, data=data)})
    assert rejoined(graph, kernels_for("cortex-m4").target) is graph


def with_window(graph, node, **window):
    """The graph with another window of a layer in front of its last op; None where none fits."""
    attrs = replace(node.attrs, **window)
    try:
        (of,) = OPS[node.op].infer(attrs, [v.type for v in node.inputs])
    except ShapeError:
        return None
    nodes = [replace(n, attrs=attrs) if n is node.node else n for n in graph.nodes]
    names = (node.output.name, *graph.outputs)
    values = {name: replace(graph.value(name), shape=of.shape) for name in names}
    return verify(replace(graph, nodes=tuple(nodes), values={**graph.values, **values}))


def test_rows_that_are_read_again_are_added_up_only_where_they_are_the_same():
    """By what is computed, for windows that files of others may have: most keep their parts."""
    target, whole = kernels_for("cortex-m4").target, 0
    windows = product(("SAME", "VALID"), (1, 2, 4, 8), (1, 2, 3))
    for kernel, (padding, stride, dilation) in product((1, 2, 3), list(windows)):
        window = {"padding": padding, "stride": (stride, 1), "dilation": (dilation, 1)}
        graph = with_window(*one_depthwise((kernel, 1)), **window)
        made = graph and rejoined(graph, target)
        if made is graph:
            continue
        whole += 1
        data = feeds(graph, 7)
        expected, found = (list(evaluate(g, data).values()) for g in (graph, made))
        np.testing.assert_array_equal(found, expected, str((kernel, window)))
    assert whole >= 10


def read_backwards(graph, node, i):
    """The graph in which a node reads one of its inputs with its rows the other way round."""
    x = graph.value(node.inputs[i])
    back = replace(x, name=f"{x.name}/backwards")
    attrs = SliceAttrs((0, x.shape[1] - 1, 0, 0), x.shape, (1, -1, 1, 1))
    turn = Node("slice", back.name, (x.name,), (back.name,), attrs)
    inputs = tuple(back.name if j == i else name for j, name in enumerate(node.inputs))
    at = graph.nodes.index(node)
    nodes = (*graph.nodes[:at], turn, replace(node, inputs=inputs), *graph.nodes[at + 1 :])
    return verify(replace(graph, nodes=nodes, values={**graph.values, back.name: back}))


def joined_below(graph, node):
    """The graph in which whole images stand below each other, not each row below itself."""
    y = graph.value(node.output)
    n, h, times, width = y.shape
    values = {**graph.values, y.name: replace(y, shape=(n, h * times, 1, width))}
    other = replace(node, attrs=ConcatenationAttrs(1))
    nodes = tuple(other if n is node else n for n in graph.nodes)
    return verify(replace(graph, nodes=nodes, values=values))


def test_what_is_nearly_read_again_stays_apart():
    """Each copy of rows or channels in turn is of something else: answers are the file's."""
    graph, target = chain(3), kernels_for("cortex-m4").target
    copies = [n for n in graph.nodes if n.op in ("concatenation", "slice")]
    others = [read_backwards(graph, n, len(n.inputs) - 1) for n in copies]
    others += [joined_below(graph, n) for n in copies if n.attrs == ConcatenationAttrs(2)]
    assert len(others) == 10
    for other in others:
        data, whole = feeds(other, 7), rejoined(other, target)
        expected, found = (list(evaluate(g, data).values()) for g in (other, whole))
        np.testing.assert_array_equal(found, expected)
