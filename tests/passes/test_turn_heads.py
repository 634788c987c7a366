"""Queries, keys and values that are moved to their heads at once."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest

from tests.memory.targets import SCALAR
from tests.passes.examples_heads import heads_of_cuts, layers_of_heads, turned_heads, wide
from tests.passes.misses import Miss, check
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tinyrt.convert.passes.turn_heads import (
    MERGE_HEADS,
    TURN_HEADS,
    _cut_channels,
    exchanged,
)
from tinyrt.ir import DType, Node, Value
from tinyrt.memory import plan_memory
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize.methods.turned import _parts


def cut(net: Net, x: str, begin: int, width: int, step: int = 1) -> str:
    size = (net.shape(x)[0], width // step)
    return net.op("slice", (x,), SliceAttrs((0, begin), size, (1, step)))


def turned(net: Net, x: str, shape: tuple[int, ...], perm: tuple[int, ...]) -> str:
    return net.transpose(net.reshape(x, *shape), perm)


MISSES = {
    "one layer": Miss("merge_heads", ((6, 8),), lambda net: wide(net, *layers_of_heads(net, 8))),
    "layers of other inputs": Miss(
        "merge_heads",
        ((6, 8), (6, 8)),
        lambda net: wide(net, *(turned_heads(net, net.dense(x, 8)) for x in ("x", "x1"))),
    ),
    "a layer that others read": Miss(
        "merge_heads",
        ((6, 8),),
        lambda net: (
            y := net.dense("x", 8),
            wide(net, turned_heads(net, y), *layers_of_heads(net, 8)),
        ),
    ),
    "memory where most is needed": Miss(
        "merge_heads",
        ((6, 8),),
        lambda net: tuple(layers_of_heads(net, 8, 8, 8)),
        "more memory would be needed",
    ),
    "cuts where most memory is needed": Miss(
        "turn_heads",
        ((6, 24),),
        lambda net: tuple(
            net.dense(net.reshape(turned_heads(net, cut(net, "x", i, 8)), 1, 48), 1)
            for i in (0, 8, 16)
        ),
        "more memory would be needed",
    ),
    "a part that is not moved": Miss(
        "turn_heads",
        ((6, 16),),
        lambda net: wide(net, *heads_of_cuts(net, "x", 8), cut(net, "x", 8, 8)),
    ),
    "a part that is missing": Miss(
        "turn_heads",
        ((6, 16),),
        lambda net: wide(net, *(turned_heads(net, cut(net, "x", i, 4)) for i in (0, 8))),
    ),
    "parts that overlap": Miss(
        "turn_heads",
        ((6, 12),),
        lambda net: wide(net, *(turned_heads(net, cut(net, "x", i, 8)) for i in (0, 4))),
    ),
    "every second channel": Miss(
        "turn_heads",
        ((6, 16),),
        lambda net: wide(net, *(turned_heads(net, cut(net, "x", i, 16, 2)) for i in (0, 1))),
    ),
    "a whole that others read": Miss(
        "turn_heads",
        ((6, 16),),
        lambda net: (net.op("tanh", ("x",)), wide(net, *heads_of_cuts(net, "x", 8, 8))),
    ),
    "other moves": Miss(
        "turn_heads",
        ((6, 16),),
        lambda net: wide(
            net,
            *(turned(net, cut(net, "x", i, 8), (1, 6, 2, 4), (0, 2, 3, 1)) for i in (0, 8)),
        ),
    ),
    "heads that take part of the tokens": Miss(
        "turn_heads",
        ((6, 16),),
        lambda net: wide(
            net,
            *(turned(net, cut(net, "x", i, 8), (3, 8, 2), (1, 0, 2)) for i in (0, 8)),
        ),
    ),
    "batches": Miss(
        "merge_heads",
        ((2, 3, 8),),
        lambda net: wide(
            net,
            *(turned(net, net.dense("x", 8), (2, 3, 2, 4), (0, 2, 1, 3)) for _ in range(2)),
        ),
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_it_is_left(name):
    check(MISSES[name])


MOVES = [
    ((1, 6, 2, 4), (0, 2, 1, 3)),
    ((6, 2, 4), (1, 0, 2)),
    ((6, 1, 2, 4), (1, 2, 0, 3)),
    ((1, 1, 6, 2, 4), (0, 3, 1, 2, 4)),
    ((2, 3, 2, 4), (2, 0, 1, 3)),
    ((6, 2, 2, 2), (1, 0, 2, 3)),
]


@pytest.mark.parametrize(("shape", "perm"), MOVES)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_moves_of_any_form_become_one(shape, perm, count):
    net = Net((6, 8))
    made = [turned(net, net.dense("x", 8), shape, perm) for _ in range(count)]
    graph, _ = apply(net.graph(wide(net, *made)), MERGE_HEADS)
    assert ops(graph)[:3] == ["fully_connected", "reshape", "transpose"]
    assert ops(graph).count("transpose") == 1
    assert ops(graph).count("slice") == count


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_of_any_order_and_width(order):
    net, places = Net((6, 32)), [(0, 8), (8, 16), (24, 8)]
    made = [
        turned(net, cut(net, "x", *places[i]), (1, 6, places[i][1] // 4, 4), (0, 2, 1, 3))
        for i in order
    ]
    graph, _ = apply(net.graph(wide(net, *made)), TURN_HEADS)
    assert ops(graph).count("transpose") == 1
    cuts = [n.attrs.begin[1] for n in graph.nodes if n.op == "slice"]
    assert cuts == [0, 2, 6]


def test_fused_activations_must_be_the_same():
    net = Net((6, 8))
    w = [net.random(8, 8) for _ in range(3)]
    kinds = ("RELU", "NONE", "RELU")
    layers = [
        net.op("fully_connected", ("x", name), FullyConnectedAttrs(activation=kind))
        for name, kind in zip(w, kinds, strict=True)
    ]
    graph, _ = apply(net.graph(wide(net, *(turned_heads(net, y) for y in layers))), MERGE_HEADS)
    assert ops(graph).count("transpose") == 2
    merged = next(n for n in graph.nodes if graph.value(n.output).shape[-1] == 16)
    assert merged.attrs.activation == "RELU"


@pytest.mark.parametrize("biased", [False, True])
def test_a_bias_is_added_only_where_one_was(biased):
    net = Net((6, 8))
    bias = [net.random(8)] if biased else []
    layers = [
        net.op("fully_connected", ("x", net.random(8, 8), *more), FullyConnectedAttrs())
        for more in (bias, [])
    ]
    graph, _ = apply(net.graph(wide(net, *(turned_heads(net, y) for y in layers))), MERGE_HEADS)
    assert len(graph.nodes[0].inputs) == 2 + biased
    if biased:
        assert not np.any(graph.value(graph.nodes[0].inputs[2]).data[8:])


def test_the_arena_grows_no_more_than_it_is_said():
    net = Net((6, 8))
    before = net.graph(wide(net, *layers_of_heads(net, 8, 8, 8)))
    after, _ = apply(before, MERGE_HEADS)
    assert plan_memory(after, SCALAR).arena_bytes <= plan_memory(before, SCALAR).arena_bytes


SMALL = [shape for rank in (3, 4) for shape in product((1, 2, 3), repeat=rank)]


def test_heads_are_exchanged_with_tokens_whatever_sizes_coincide():
    """By what elements do: where sizes are alike, other moves have the same products of sizes."""
    for shape in SMALL:
        x = np.arange(math.prod(shape)).reshape(shape)
        for perm in permutations(range(len(shape))):
            sizes, moved = exchanged(shape, perm), x.transpose(perm).ravel()
            if sizes is not None:
                np.testing.assert_array_equal(x.reshape(sizes).transpose(1, 0, 2).ravel(), moved)
            elif perm == (1, 0, 2):
                assert 1 in shape


CUTS = [(b, s, step) for b, s, step in product(range(4), range(1, 5), (1, 2)) if b + s <= 4]


def test_slices_are_parts_of_a_whole_only_if_they_join_to_it():
    whole = Value("x", DType.FLOAT32, (2, 4))
    nodes = {
        cut: Node("slice", str(cut), ("x",), (str(cut),), SliceAttrs((0, b), (2, s), (1, step)))
        for cut in CUTS
        for b, s, step in [cut]
    }
    for count in (2, 3):
        for cuts in combinations(CUTS, count):
            taken = [b + step * i for b, s, step in sorted(cuts) for i in range(s)]
            is_whole = taken == [0, 1, 2, 3] and all(step == 1 for *_, step in cuts)
            made = [nodes[cut] for cut in cuts]
            assert _cut_channels(whole, made) is is_whole, cuts
            assert (_parts(whole.shape, 1, made) is not None) is is_whole, cuts
