"""Attention whose sums come back to their tokens, head by head."""

import numpy as np
import pytest

from tests.memory.targets import SCALAR
from tests.passes.examples_heads import attention, product, turned_heads
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import ops
from tests.passes.test_every_pass import applied, assert_same
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.convert.passes.unroll_heads import MAX_HEADS, UNROLL_HEADS, _moved
from tinyrt.memory import plan_memory
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

BACK = (0, 2, 1, 3)


def unrolled(net, *outputs):
    return applied(net.graph(*outputs), UNROLL_HEADS, REMOVE_DEAD)[0]


@pytest.mark.parametrize("heads", [2, 3, MAX_HEADS])
def test_no_move_is_left_and_less_memory_is_needed(heads):
    net = Net((6, 3 * 4 * heads))
    before = net.graph(attention(net, heads=heads))
    after, _ = applied(before, UNROLL_HEADS, REMOVE_DEAD)
    assert "transpose" not in ops(after)
    assert ops(after).count("softmax") == heads
    assert ops(after).count("batch_matmul") == 2 * heads
    assert plan_memory(after, SCALAR).arena_bytes < plan_memory(before, SCALAR).arena_bytes


def columns(net: Net, heads: int, depth: int, turned: bool) -> str:
    """Heads whose channels lie one behind the other, as rows or as columns."""
    wide = net.reshape("x", 1, 5, heads, depth)
    return net.transpose(wide, (0, 2, 3, 1) if turned else BACK)


@pytest.mark.parametrize("seed", range(12))
def test_operands_of_any_order(seed):
    """Either operand may lie turned, and be turned by the product."""
    rng = np.random.default_rng(seed)
    heads, depth = (int(n) for n in rng.integers(2, 5, 2))
    net = Net((5, heads * depth))
    a, b = (columns(net, heads, depth, bool(rng.integers(2))) for _ in range(2))
    scores = product(net, a, b, net.shape(a)[-1] == 5, net.shape(b)[-1] != 5)
    assert net.shape(scores) == (1, heads, 5, 5)
    if seed % 2:
        scores = net.add(scores, net.random(heads, 5, 1))
    value = columns(net, heads, depth, turned=False)
    y = net.transpose(product(net, net.op("tanh", (scores,)), value), BACK)
    assert "transpose" not in ops(unrolled(net, y))


def test_softmax_over_tokens_keeps_the_one_move_that_it_needs():
    net = Net((5, 8))
    query, value = (columns(net, 2, 4, turned=False) for _ in range(2))
    key = net.op("softmax", (columns(net, 2, 4, turned=True),), SoftmaxAttrs())
    y = net.transpose(product(net, query, product(net, key, value)), BACK)
    assert ops(unrolled(net, y)).count("transpose") == 1


def test_tokens_that_were_moved_apart_are_cut_behind_their_move():
    """The first two lie as if rows were steps of a matrix, the third does not."""
    net = Net((6, 24))
    tokens = net.transpose(net.reshape("x", 2, 3, 24), (1, 0, 2))
    graph = unrolled(net, attention(net, net.reshape(tokens, 6, 24)))
    assert ops(graph).count("transpose") == 1


def test_one_operand_may_be_of_all_heads():
    net = Net((5, 8), (1, 1, 4, 3))
    y = net.transpose(product(net, columns(net, 2, 4, turned=False), "x1"), BACK)
    graph = unrolled(net, y)
    assert [n.inputs[1] for n in graph.nodes if n.op == "batch_matmul"] == ["x1", "x1"]


def test_what_others_read_is_cut_and_stays():
    net = Net((6, 8))
    heads = turned_heads(net, "x")
    weights = net.op("softmax", (product(net, heads, heads, adj_y=True),), SoftmaxAttrs())
    sums = net.transpose(product(net, weights, heads), BACK)
    graph = unrolled(net, *read_twice(net, weights, sums), net.dense(net.dense("x", 90), 2))
    assert ops(graph).count("softmax") == 1


def test_heads_that_were_cut_and_turned_back_are_cut_before():
    """As YOLO11's values, of which taps are added to the sums."""
    net = Net((20, 16))
    heads = net.transpose(net.reshape(net.op("tanh", ("x",)), 1, 20, 2, 8), BACK)
    key, value = (
        net.op("slice", (heads,), SliceAttrs((0, 0, 0, at), (1, 2, 20, 4), (1, 1, 1, 1)))
        for at in (0, 4)
    )
    sums = net.transpose(product(net, product(net, key, value, adj_y=True), value), BACK)
    y = net.add(sums, net.op("tanh", (net.transpose(value, BACK),)))
    assert "transpose" not in ops(unrolled(net, y))


def read_by_layer(net: Net, query: str, key: str, value: str) -> str:
    """Sums of heads as a layer reads them, without a move back."""
    weights = net.op("softmax", (product(net, query, key, adj_y=True),), SoftmaxAttrs())
    return net.dense(net.reshape(product(net, weights, value), 2, 24))


def test_sums_that_a_layer_reads_are_joined_where_two_moves_are_saved():
    net = Net((6, 8), (6, 8))
    query, key = turned_heads(net, "x"), turned_heads(net, "x1")
    graph = unrolled(net, read_by_layer(net, query, key, key))
    assert "transpose" not in ops(graph)
    assert [n.attrs.axis for n in graph.nodes if n.op == "concatenation"] == [1]


@pytest.mark.parametrize(("shape", "axis"), [((2, 1, 6, 4), 0), ((1, 2, 6, 4), 1)])
def test_heads_are_joined_along_the_dimension_that_they_had(shape, axis):
    net = Net((6, 8), (6, 8))

    def heads(x: str) -> str:
        return net.transpose(net.reshape(x, 6, 2, 4), (1, 0, 2))

    query, key, value = (net.reshape(heads(x), *shape) for x in ("x", "x1", "x1"))
    weights = net.op("softmax", (product(net, query, key, adj_y=True),), SoftmaxAttrs())
    graph = net.graph(net.dense(net.reshape(product(net, weights, value), 2, 24)))
    after, _ = applied(graph, UNROLL_HEADS, REMOVE_DEAD)
    assert [n.attrs.axis for n in after.nodes if n.op == "concatenation"] == [axis]
    assert_same(graph, after)


MISSES = {
    "a product that others read": Miss(
        "unroll_heads",
        ((6, 8),),
        lambda net: read_twice(
            net,
            y := product(net, turned_heads(net, "x"), turned_heads(net, "x"), adj_y=True),
            net.transpose(y, BACK),
        ),
        "has other readers",
    ),
    "memory where most is needed": Miss(
        "unroll_heads",
        ((1, 2, 6, 4),),
        lambda net: net.transpose(product(net, "x", net.random(1, 2, 4, 2)), BACK),
        "more memory would be needed",
    ),
    "one move for all": Miss(
        "unroll_heads",
        ((6, 8),),
        lambda net: read_by_layer(net, *[turned_heads(net, "x")] * 3),
    ),
    "moves that others read, too": Miss(
        "unroll_heads",
        ((6, 8), (6, 8)),
        lambda net: (
            query := turned_heads(net, "x"),
            key := turned_heads(net, "x1"),
            read_by_layer(net, query, key, key),
        ),
        "no more than one move",
    ),
    "two dimensions of heads": Miss(
        "unroll_heads",
        ((2, 3, 4, 4),),
        lambda net: net.transpose(product(net, "x", "x"), (2, 0, 1, 3)),
    ),
    "windows": Miss(
        "unroll_heads",
        ((2, 3, 4, 4),),
        lambda net: net.transpose(product(net, "x", "x"), BACK),
    ),
    "another order": Miss(
        "unroll_heads",
        ((1, 3, 4, 4),),
        lambda net: net.transpose(product(net, "x", "x"), (0, 3, 1, 2)),
    ),
    "no product": Miss("unroll_heads", ((1, 3, 4, 4),), lambda net: net.transpose("x", BACK)),
}


@pytest.mark.parametrize("name", MISSES)
def test_it_is_left(name):
    check(MISSES[name])


def test_a_moved_value_may_be_read_from_each_place_that_it_came_from():
    """First from what no transpose has moved, of that from the nearest."""
    net = Net((6, 4))
    near = net.reshape("x", 1, 6, 2, 2)
    turned = net.transpose(near, BACK)
    moved = net.reshape(turned, 1, 2, 12)
    graph = net.graph(moved)
    found = [
        (source.name, [*places.flat[:6]]) for source, places in _moved(graph, graph.value(moved))
    ]
    by_heads, as_it_is = [0, 1, 4, 5, 8, 9], [*range(6)]
    assert found == [(near, by_heads), ("x", by_heads), (moved, as_it_is), (turned, as_it_is)]
