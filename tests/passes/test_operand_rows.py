"""Operands of products that are read as they lie."""

import itertools

import pytest

from tests.passes.examples_heads import (
    attention_of_one_head,
    channels_first,
    keys_of_image,
    product,
)
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import ops
from tests.passes.test_every_pass import applied
from tinyrt.convert.passes.operand_rows import (
    CUT_INTO_PRODUCT,
    REGROUPED_INTO_PRODUCT,
)
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

TO_FIRST = (0, 3, 1, 2)


def adjoints(graph):
    return [(a.adj_x, a.adj_y) for n in graph.nodes if isinstance(a := n.attrs, BatchMatmulAttrs)]


@pytest.mark.parametrize("place", [0, 1])
def test_keys_of_an_image_are_moved_by_rows(place):
    """Whichever operand they are, and whether the product exchanges them already."""
    for exchanged in (False, True):
        net = Net((1, 6, 5, 4))
        keys, rows = keys_of_image(net, "x"), net.reshape("x", 1, 2, 30, 2)
        other = net.reshape("x", 1, 2, 2, 30) if exchanged else rows
        operands = (keys, other) if place == 0 else (other, keys)
        is_left, is_right = (exchanged and place == i for i in range(2))
        y = product(net, *operands, adj_x=is_left, adj_y=is_right)
        graph, _ = applied(net.graph(y), REGROUPED_INTO_PRODUCT, REMOVE_DEAD)
        (turn,) = (n for n in graph.nodes if n.op == "transpose")
        assert turn.attrs_as(TransposeAttrs).perm[-1] == len(graph.value(turn.output).shape) - 1
        assert adjoints(graph) == [(is_left != (place == 0), is_right != (place == 1))]


def test_a_head_of_an_image_is_cut_and_not_moved():
    net = Net((1, 6, 5, 8))
    graph, _ = applied(net.graph(attention_of_one_head(net)), CUT_INTO_PRODUCT, REMOVE_DEAD)
    assert "transpose" not in ops(graph)
    assert adjoints(graph) == [(False, True), (False, False)]


def test_both_operands_of_a_product_may_be_cut_in_any_order():
    for sizes, order in itertools.product([(2, 2), (3, 3), (1, 1)], [(0, 1), (1, 0)]):
        net = Net((1, 6, 5, sum(sizes)))
        parts = channels_first(net, *sizes)
        y = product(net, *(parts[i] for i in order), adj_y=True)
        graph, _ = applied(net.graph(y), CUT_INTO_PRODUCT, REMOVE_DEAD)
        assert "transpose" not in ops(graph)
        assert adjoints(graph) == [(True, False)]


def strided(net: Net, attrs: SliceAttrs, *shape: int) -> str:
    part = net.op("slice", (net.transpose("x", TO_FIRST),), attrs)
    return product(net, net.reshape(part, *shape), net.random(1, 15 if shape[-1] == 15 else 30, 2))


MISSES = {
    "keys that lie by rows": Miss(
        "regrouped_into_product",
        ((1, 6, 5, 4),),
        lambda net: product(
            net,
            net.reshape(net.transpose("x", (0, 2, 1, 3)), 1, 30, 4),
            net.reshape("x", 1, 4, 30),
        ),
    ),
    "keys that no move brings by rows": Miss(
        "regrouped_into_product",
        ((1, 6, 5, 4),),
        lambda net: product(
            net,
            net.reshape(net.transpose("x", (0, 3, 2, 1)), 1, 20, 6),
            net.reshape("x", 1, 6, 20),
        ),
    ),
    "a regrouping without common parts": Miss(
        "regrouped_into_product",
        ((1, 6, 5, 4),),
        lambda net: product(
            net,
            net.reshape(net.transpose("x", TO_FIRST), 1, 3, 40),
            net.reshape("x", 1, 40, 3),
        ),
    ),
    "a transpose that others read": Miss(
        "regrouped_into_product",
        ((1, 6, 5, 4),),
        lambda net: read_twice(
            net,
            y := net.transpose("x", TO_FIRST),
            product(net, net.reshape("x", 1, 2, 30, 2), net.reshape(y, 1, 2, 2, 30)),
        ),
        "has other readers",
    ),
    "a transpose that is not cut": Miss(
        "cut_into_product",
        ((1, 6, 5, 4),),
        lambda net: net.op("tanh", (net.transpose("x", TO_FIRST),)),
    ),
    "a cut that two read": Miss(
        "cut_into_product",
        ((1, 6, 5, 4),),
        lambda net: read_twice(
            net, (y := channels_first(net, 2, 2))[0], product(net, *y, adj_x=True)
        ),
        "not all that is cut from it",
    ),
    "a product of a part with itself": Miss(
        "cut_into_product",
        ((1, 6, 5, 4),),
        lambda net: product(net, (y := channels_first(net, 4)[0]), y, adj_x=True),
    ),
    "a cut in steps": Miss(
        "cut_into_product",
        ((1, 6, 5, 4),),
        lambda net: strided(net, SliceAttrs((0, 0, 0, 0), (1, 2, 6, 5), (1, 2, 1, 1)), 1, 2, 30),
    ),
    "heads that must be moved": Miss(
        "cut_into_product",
        ((1, 6, 5, 4),),
        lambda net: strided(net, SliceAttrs((0, 0, 0, 0), (1, 4, 6, 5), (1, 1, 1, 1)), 4, 2, 15),
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_near_misses(name):
    check(MISSES[name])
