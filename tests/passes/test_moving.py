"""Reshapes, transposes and borders that merge, move or vanish; dead and duplicate nodes."""

import pytest

from tests.passes.nets import TO_NCHW, Net
from tests.passes.run import apply, ops, refusal
from tinyrt.convert.passes.fold_transpose import TRANSPOSE_INTO_DENSE, TRANSPOSE_INTO_MEAN
from tinyrt.convert.passes.merge_duplicates import MERGE_DUPLICATES
from tinyrt.convert.passes.merge_moves import (
    MERGE_PADS,
    MERGE_RESHAPES,
    MERGE_TRANSPOSES,
    TRANSPOSE_TO_RESHAPE,
)
from tinyrt.convert.passes.prune import REMOVE_DEAD, REMOVE_IDENTITY
from tinyrt.convert.passes.sink_reshape import (
    SINK_PAD,
    SINK_RESHAPE,
    SINK_RESHAPES,
    SINK_TRANSPOSE,
)
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs


@pytest.mark.parametrize("wide", [(1, 16, 1, 40), (1, 1, 16, 40), (1, 16, 40, 1)])
def test_transposes_sink_behind_new_dimensions(wide):
    net = Net((1, 40, 16))
    y = net.reshape(net.transpose("x", (0, 2, 1)), *wide)
    graph, _ = apply(net.graph(y), SINK_TRANSPOSE, REMOVE_DEAD)
    assert ops(graph) == ["reshape", "transpose"]


def test_norms_of_one_channel_stay_behind_reshapes_to_it():
    net = Net((1, 6))
    graph = net.graph(net.batch_norm(net.reshape("x", 6, 1, 1, 1)))
    assert "what its constant applies to" in refusal(graph, SINK_RESHAPE)


def test_transposes_stay_before_other_reshapes():
    net = Net((1, 40, 16))
    graph = net.graph(net.reshape(net.transpose("x", (0, 2, 1)), 1, 8, 2, 40))
    assert "more than insert" in refusal(graph, SINK_TRANSPOSE)


def test_reshapes_merge():
    net = Net((2, 6))
    y = net.reshape(net.reshape("x", 3, 4), 12)
    assert ops(apply(net.graph(y), MERGE_RESHAPES, REMOVE_DEAD)[0]) == ["reshape"]


def test_transposes_merge():
    net = Net((2, 3, 4))
    y = net.transpose(net.transpose("x", (1, 2, 0)), (0, 2, 1))
    graph, _ = apply(net.graph(y), MERGE_TRANSPOSES, REMOVE_DEAD)
    assert [n.attrs.perm for n in graph.nodes] == [(1, 0, 2)]


def test_transposes_that_cancel_vanish():
    net = Net((2, 3, 4))
    y = net.transpose(net.transpose(net.op("relu", ("x",)), (1, 2, 0)), (2, 0, 1))
    graph, _ = apply(net.graph(y), MERGE_TRANSPOSES, REMOVE_DEAD, REMOVE_IDENTITY)
    assert ops(graph) == ["relu"]


def test_pads_merge():
    net = Net((2, 3))
    y = net.op("pad", ("x",), PadAttrs(((0, 1), (2, 0))))
    y = net.op("pad", (y,), PadAttrs(((1, 0), (0, 3))))
    graph, _ = apply(net.graph(y), MERGE_PADS, REMOVE_DEAD)
    assert [n.attrs.paddings for n in graph.nodes] == [((1, 1), (2, 3))]


def test_pads_of_different_values_stay():
    net = Net((2, 3))
    y = net.op("pad", ("x",), PadAttrs(((0, 1), (2, 0))))
    graph = net.graph(net.op("pad", (y,), PadAttrs(((1, 0), (0, 3)), 1.0)))
    assert "fills with 1.0, not 0.0" in refusal(graph, MERGE_PADS)


def test_a_transpose_of_units_is_a_reshape():
    net = Net((1, 1, 5, 3))
    graph, _ = apply(net.graph(net.transpose("x", (2, 0, 3, 1))), TRANSPOSE_TO_RESHAPE)
    assert ops(graph) == ["reshape"]
    net = Net((1, 2, 5, 3))
    graph, _ = apply(net.graph(net.transpose("x", (2, 0, 3, 1))), TRANSPOSE_TO_RESHAPE)
    assert ops(graph) == ["transpose"]


IDENTITIES = {
    "reshape": lambda net, x: net.reshape(x, 1, 4, 5, 3),
    "transpose": lambda net, x: net.transpose(x, (0, 1, 2, 3)),
    "pad": lambda net, x: net.op("pad", (x,), PadAttrs(((0, 0),) * 4)),
    "concatenation": lambda net, x: net.op("concatenation", (x,), ConcatenationAttrs(3)),
    "max_pool2d": lambda net, x: net.op("max_pool2d", (x,), Pool2dAttrs((1, 1))),
    "add": lambda net, x: net.op("add", (x, zeros(net)), AddAttrs()),
    "sub": lambda net, x: net.op("sub", (x, zeros(net)), AddAttrs()),
    "mul": lambda net, x: net.op("mul", (ones(net), x), MulAttrs()),
}


def zeros(net):
    return net.constant(0 * net.rng.random(3, dtype="float32"))


def ones(net):
    return net.constant(0 * net.rng.random(3, dtype="float32") + 1)


@pytest.mark.parametrize("op", IDENTITIES)
def test_identities_vanish(op):
    net = Net((1, 4, 5, 3))
    inner = net.op("relu", (IDENTITIES[op](net, net.op("tanh", ("x",))),))
    outer = IDENTITIES[op](net, inner)
    graph, _ = apply(net.graph(outer), REMOVE_IDENTITY)
    assert ops(graph) == ["tanh", "relu"]


def test_what_only_looks_like_an_identity_stays():
    net = Net((1, 4, 5, 3))
    clamps = net.op("add", ("x", zeros(net)), AddAttrs("RELU"))
    negates = net.op("sub", (zeros(net), clamps), AddAttrs())
    widens = net.op("add", (net.reshape("x", 60, 1), zeros(net)), AddAttrs())
    graph, log = apply(net.graph(negates, widens), REMOVE_IDENTITY)
    assert len(graph.nodes) == 4
    assert not log.applied


def test_an_identity_between_input_and_output_stays():
    net = Net((2, 3))
    assert "both the model's own" in refusal(net.graph(net.reshape("x", 2, 3)), REMOVE_IDENTITY)


def test_dead_nodes_and_duplicates_go():
    net = Net((2, 3))
    first, second = net.op("tanh", ("x",)), net.op("tanh", ("x",))
    net.op("logistic", (first,))
    graph = net.graph(net.op("add", (first, second), AddAttrs()))
    assert ops(apply(graph, MERGE_DUPLICATES, REMOVE_DEAD)[0]) == ["tanh", "add"]


@pytest.mark.parametrize("given", [(0,), (1,), (0, 1), (0, 2), (0, 1, 2)])
def test_duplicates_of_what_the_model_gives_go(given):
    """Each output is computed under its own name; what else is alike is computed once."""
    net = Net((2, 3))
    alike = [net.op("tanh", ("x",)) for _ in range(4)]
    others = [net.op("neg", (y,)) for i, y in enumerate(alike) if i not in given]
    graph = net.graph(*(alike[i] for i in given), *others)
    assert ops(apply(graph, MERGE_DUPLICATES, REMOVE_DEAD)[0]).count("tanh") == len(given)


UNARY = ["relu", "relu6", "relu_n1_to_1", "logistic", "tanh"]


@pytest.mark.parametrize("op", UNARY)
def test_reshapes_sink_below_unary_ops(op):
    net = Net((2, 3, 4))
    graph, _ = apply(net.graph(net.op(op, (net.reshape("x", 6, 4),))), SINK_RESHAPE)
    assert ops(graph) == [op, "reshape"]


@pytest.mark.parametrize("shape", [(4,), (1, 4), (1, 1, 1, 4), (1,)])
def test_reshapes_sink_below_constants_per_channel(shape):
    net = Net((6, 4))
    y = net.op("mul", (net.reshape("x", 1, 2, 3, 4), net.random(*shape)), MulAttrs())
    assert ops(apply(net.graph(y), SINK_RESHAPE)[0]) == ["mul", "reshape"]


def test_reshapes_sink_below_batch_norm():
    net = Net((6, 4))
    graph, _ = apply(net.graph(net.batch_norm(net.reshape("x", 1, 2, 3, 4))), SINK_RESHAPE)
    assert ops(graph) == ["batch_norm", "reshape"]


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda net: net.batch_norm(net.reshape("x", 4, 6)), "changes what its constant applies"),
        (
            lambda net: net.op("add", (net.reshape("x", 3, 2, 4), net.random(2, 1)), AddAttrs()),
            "changes what its constant applies to",
        ),
        (
            lambda net: net.op("add", (net.reshape("x", 24, 1), net.random(4)), AddAttrs()),
            "makes its operand larger",
        ),
    ],
)
def test_other_reshapes_stay(build, reason):
    net = Net((6, 4))
    assert reason in refusal(net.graph(build(net)), SINK_RESHAPE)


def test_a_reshape_that_others_read_stays():
    net = Net((6, 4))
    y = net.reshape("x", 4, 6)
    assert "other readers" in refusal(net.graph(net.op("relu", (y,)), y), SINK_RESHAPE)


def test_two_reshapes_sink_below_a_sum():
    net = Net((6, 4), (6, 4))
    y = net.op("add", (net.reshape("x", 3, 8), net.reshape("x1", 3, 8)), AddAttrs())
    assert ops(apply(net.graph(y), SINK_RESHAPES)[0]) == ["add", "reshape"]


def test_two_reshapes_that_others_read_stay():
    net = Net((6, 4), (6, 4))
    a, b = net.reshape("x", 3, 8), net.reshape("x1", 3, 8)
    graph = net.graph(net.op("add", (a, b), AddAttrs()), net.softmax(a), net.softmax(b))
    assert "both of its operands have other readers" in refusal(graph, SINK_RESHAPES)


def test_reshapes_of_different_shapes_stay():
    net = Net((6, 4), (2, 12))
    y = net.op("add", (net.reshape("x", 3, 8), net.reshape("x1", 3, 8)), AddAttrs())
    assert "come from shapes (6, 4) and (2, 12)" in refusal(net.graph(y), SINK_RESHAPES)


def test_a_border_moves_behind_inserted_units():
    net = Net((1, 6, 4))
    y = net.op("pad", ("x",), PadAttrs(((0, 0), (2, 1), (0, 0))))
    graph, _ = apply(net.graph(net.reshape(y, 1, 1, 9, 4)), SINK_PAD)
    assert ops(graph) == ["reshape", "pad"]
    assert graph.nodes[1].attrs.paddings == ((0, 0), (0, 0), (2, 1), (0, 0))


def test_a_border_stays_before_other_reshapes():
    net = Net((1, 6, 4))
    y = net.op("pad", ("x",), PadAttrs(((0, 0), (2, 1), (0, 0))))
    assert "more than insert" in refusal(net.graph(net.reshape(y, 1, 3, 3, 4)), SINK_PAD)


def test_dense_weights_absorb_a_transpose():
    net = Net((2, 4, 5, 3))
    flat = net.reshape(net.transpose("x", TO_NCHW), 2, 60)
    graph = net.graph(net.dense(flat), net.dense(flat, 7))
    after, _ = apply(graph, TRANSPOSE_INTO_DENSE, REMOVE_DEAD)
    assert ops(after) == ["reshape", "fully_connected", "fully_connected"]


@pytest.mark.parametrize(
    ("perm", "rows", "columns"),
    [((3, 1, 2, 0), 2, 60), ((0, 2, 1, 3), 8, 15), ((0, 3, 1, 2), 8, 15)],
)
def test_transposes_across_rows_stay(perm, rows, columns):
    net = Net((2, 4, 5, 3))
    graph = net.graph(net.dense(net.reshape(net.transpose("x", perm), rows, columns)))
    assert "not all that reads it are products of rows" in refusal(graph, TRANSPOSE_INTO_DENSE)


def test_a_transpose_stays_where_others_read_the_rows():
    net = Net((2, 4, 5, 3))
    flat = net.reshape(net.transpose("x", TO_NCHW), 2, 60)
    graph = net.graph(net.dense(flat), net.softmax(flat))
    assert "not all that reads it are products of rows" in refusal(graph, TRANSPOSE_INTO_DENSE)


def test_means_absorb_a_transpose():
    net = Net((2, 4, 5, 3))
    graph = net.graph(net.op("mean", (net.transpose("x", TO_NCHW),), MeanAttrs((2, 3))))
    after, _ = apply(graph, TRANSPOSE_INTO_MEAN, REMOVE_DEAD)
    assert ops(after) == ["mean"]
    assert after.nodes[0].attrs.axes == (1, 2)


@pytest.mark.parametrize(("axis", "perm"), [(-1, (0, 2, 1)), (0, (2, 0, 1))])
def test_means_leave_a_smaller_transpose_where_the_order_changes(axis, perm):
    net = Net((2, 4, 5, 3))
    graph = net.graph(net.op("mean", (net.transpose("x", TO_NCHW),), MeanAttrs((axis,))))
    after, _ = apply(graph, TRANSPOSE_INTO_MEAN, REMOVE_DEAD)
    assert ops(after) == ["mean", "transpose"]
    assert after.nodes[1].attrs.perm == perm
