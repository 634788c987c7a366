"""What is cut from a turned tensor and turned back is cut from the tensor itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.example_parts import joined
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tests.passes.test_every_pass import applied
from tinyrt.convert.passes.common import moves_only_units
from tinyrt.convert.passes.cut_before_turn import CUT_BEFORE_TURN
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ir import Graph
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

IMAGE, FIRST, LAST = (1, 6, 5, 8), (0, 3, 1, 2), (0, 2, 3, 1)


def cut(net: Net, x: str, begin: tuple[int, ...], size: tuple[int, ...], *drop: int) -> str:
    return net.op("slice", (x,), SliceAttrs(begin, size, (1,) * len(size), drop))


def heads(net: Net) -> str:
    """Half of each of two heads of pixels, as an image again."""
    whole = net.reshape(net.transpose("x", FIRST), 1, 2, 4, 30)
    part = cut(net, whole, (0, 0, 2, 0), (1, 2, 2, 30))
    return net.transpose(net.reshape(part, 1, 4, 6, 5), LAST)


def third(net: Net) -> str:
    """The second of three parts that heads were turned for, as rows again."""
    whole = net.transpose("x", (2, 0, 3, 1, 4))
    part = cut(net, whole, (1, 0, 0, 0, 0), (1, 1, 2, 5, 4), 0)
    return net.transpose(part, (0, 2, 1, 3))


def rows(net: Net) -> str:
    """Two rows of pixels, of channels that are joined with nothing."""
    flat = net.reshape(net.transpose("x", FIRST), 8, 30)
    return net.transpose(cut(net, flat, (0, 10), (8, 10)), (1, 0))


def corner(net: Net) -> str:
    """A range of each of the three dimensions."""
    part = cut(net, net.transpose("x", FIRST), (0, 3, 1, 2), (1, 4, 3, 2))
    return net.transpose(part, LAST)


def one(net: Net) -> str:
    """One row of pixels, behind which the channels are where they were."""
    part = cut(net, net.transpose("x", FIRST), (0, 0, 4, 0), (1, 8, 1, 5))
    return net.transpose(part, (0, 3, 2, 1))


def five(net: Net) -> str:
    """Ranges of three of five dimensions, the most that LiteRT cuts."""
    flat = net.reshape(net.transpose("x", (0, 2, 4, 1, 3)), 3, 3, 3, 4)
    part = cut(net, flat, (1, 0, 1, 0), (2, 2, 2, 4))
    return net.transpose(net.reshape(part, 2, 2, 2, 2, 2), (0, 3, 1, 4, 2))


def by_construction(shape: tuple[int, ...], seed: int) -> Graph:
    """A tensor is turned, cut in one dimension, and turned back; others read it turned."""
    rng, net = np.random.default_rng(seed), Net(shape)
    perm = tuple(int(i) for i in rng.permutation(len(shape)))
    turned = net.transpose("x", perm)
    sizes = list(net.shape(turned))
    axis = int(rng.integers(len(sizes)))
    begin = [0] * len(sizes)
    begin[axis] = int(rng.integers(sizes[axis]))
    sizes[axis] = int(rng.integers(1, sizes[axis] - begin[axis] + 1))
    part = cut(net, turned, tuple(begin), tuple(sizes))
    back = tuple(int(i) for i in np.argsort(perm))
    return net.graph(
        net.transpose(part, back), net.op("tanh", (turned,)), joined(net, *["x"] * 9, axis=0)
    )


@pytest.mark.parametrize(
    ("shape", "make", "cut_of"),
    [
        (IMAGE, heads, (60, 4)),
        ((1, 5, 3, 2, 4), third, (5, 3, 8)),
        (IMAGE, rows, (6, 40)),
        (IMAGE, corner, (6, 5, 8)),
        (IMAGE, one, (6, 40)),
        ((3, 2, 3, 2, 3), five, (3, 2, 3, 2, 3)),
    ],
)
def test_the_cut_comes_first_and_both_transposes_go(shape, make, cut_of):
    net = Net(shape)
    graph, _ = apply(net.graph(make(net)), CUT_BEFORE_TURN, REMOVE_DEAD)
    assert ops(graph) == ["reshape", "slice", "reshape"]
    (part,) = (n for n in graph.nodes if n.op == "slice")
    shape = tuple(d for d in graph.value(part.inputs[0]).shape if d != 1)
    assert shape == cut_of


def test_who_else_reads_it_turned_still_does():
    net = Net(IMAGE)
    turned = net.transpose("x", FIRST)
    part = net.transpose(cut(net, turned, (0, 3, 0, 0), (1, 4, 6, 5)), LAST)
    outputs = part, net.op("tanh", (turned,)), joined(net, *["x"] * 9)
    graph, _ = apply(net.graph(*outputs), CUT_BEFORE_TURN, REMOVE_DEAD)
    found = sorted(op for op in ops(graph) if op != "concatenation")
    assert found == ["reshape", "reshape", "slice", "tanh", "transpose"]


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(0, 255))
def test_one_transpose_of_two_is_left_and_results_stay(shape, seed):
    graph = by_construction(tuple(shape), seed)
    _, part, back = graph.nodes[:3]
    perm = back.attrs_as(TransposeAttrs).perm
    moves = not moves_only_units(graph.value(part.output).shape, perm)
    after, log = applied(graph, CUT_BEFORE_TURN, REMOVE_DEAD)
    assert ("cut_before_turn" in {rule for rule, _ in log.applied}) == moves
    assert ops(after).count("transpose") == 2 - moves


MISSES = {
    "both at once where most memory is needed": Miss(
        "cut_before_turn",
        (IMAGE,),
        lambda net: (
            y := net.transpose("x", FIRST),
            net.transpose(cut(net, y, (0, 0, 0, 0), (1, 4, 6, 5)), LAST),
            cut(net, y, (0, 7, 0, 0), (1, 1, 6, 5)),
        )[1:],
        "more memory",
    ),
    "a part of joined rows": Miss(
        "cut_before_turn",
        (IMAGE,),
        lambda net: (
            flat := net.reshape(net.transpose("x", FIRST), 8, 30),
            net.transpose(cut(net, flat, (0, 0), (8, 7)), (1, 0)),
        )[1],
        "cuts through what",
    ),
    "rows from within a row": Miss(
        "cut_before_turn",
        (IMAGE,),
        lambda net: (
            flat := net.reshape(net.transpose("x", FIRST), 8, 30),
            net.transpose(cut(net, flat, (0, 7), (8, 10)), (1, 0)),
        )[1],
        "cuts through what",
    ),
    "every second channel": Miss(
        "cut_before_turn",
        (IMAGE,),
        lambda net: net.transpose(
            net.op(
                "slice",
                (net.transpose("x", FIRST),),
                SliceAttrs((0, 0, 0, 0), (1, 4, 6, 5), (1, 2, 1, 1)),
            ),
            LAST,
        ),
        "cuts through what",
    ),
    "a split of what is cut": Miss(
        "cut_before_turn",
        (IMAGE,),
        lambda net: net.transpose(
            net.reshape(cut(net, net.transpose("x", FIRST), (0, 0, 0, 0), (1, 4, 6, 5)), 2, 2, 30),
            (2, 0, 1),
        ),
        "splits what",
    ),
    "another order": Miss(
        "cut_before_turn",
        (IMAGE,),
        lambda net: net.transpose(
            cut(net, net.transpose("x", FIRST), (0, 0, 0, 0), (1, 4, 6, 5)), (0, 3, 2, 1)
        ),
        "does not undo",
    ),
    "more dimensions than LiteRT cuts": Miss(
        "cut_before_turn",
        ((2, 3, 2, 3, 2, 3),),
        lambda net: (
            flat := net.reshape(net.transpose("x", (1, 3, 5, 0, 2, 4)), 3, 3, 3, 8),
            part := net.reshape(cut(net, flat, (0, 0, 0, 0), (2, 2, 2, 8)), 2, 2, 2, 2, 2, 2),
            net.transpose(part, (3, 0, 4, 1, 5, 2)),
        )[2],
        "more than 5 dimensions",
    ),
    "something between": Miss(
        "cut_before_turn",
        (IMAGE,),
        lambda net: net.transpose(
            cut(net, net.op("tanh", (net.transpose("x", FIRST),)), (0, 0, 0, 0), (1, 4, 6, 5)),
            LAST,
        ),
    ),
    "one row that stays": Miss(
        "cut_before_turn",
        ((1, 1, 1, 8),),
        lambda net: read_twice(
            net,
            y := cut(net, net.transpose("x", FIRST), (0, 0, 0, 0), (1, 4, 1, 1)),
            net.transpose(y, LAST),
        ),
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_it_leaves_what_it_would_not_help(name):
    check(MISSES[name])
