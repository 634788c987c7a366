"""Windows of an image and the heads in them, moved at once."""

import itertools

import numpy as np
import pytest

from tests.passes.examples_heads import product
from tests.passes.examples_windows import IMAGE, attended, attention, heads_of, windows_of
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import ops
from tests.passes.test_every_pass import applied, assert_same
from tinyrt.convert.passes import optimize
from tinyrt.convert.passes.merge_moves import MERGE_TRANSPOSES
from tinyrt.convert.passes.moves import Move
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.convert.passes.rows_behind import _turns
from tinyrt.convert.passes.windows import HEADS_BEFORE_WINDOWS, WINDOWS_BEHIND_LAYERS
from tinyrt.ir import Graph
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

RULES = (REMOVE_DEAD, MERGE_TRANSPOSES, HEADS_BEFORE_WINDOWS, WINDOWS_BEHIND_LAYERS)
BACK = (0, 2, 1, 3)


def moved(net: Net, *outputs: str) -> Graph:
    return applied(net.graph(*outputs), *RULES)[0]


def thirds(net: Net, tokens: str, heads: int = 2) -> list[str]:
    """Queries, keys and values of one layer."""
    count, steps, channels = net.shape(tokens)
    layer = net.reshape(net.dense(tokens, 3 * channels), count, steps, 3, heads, channels // heads)
    turned = net.transpose(layer, (2, 0, 3, 1, 4))
    size = (1, *net.shape(turned)[1:])
    cuts = [SliceAttrs((i, 0, 0, 0, 0), size, (1,) * 5) for i in range(3)]
    return [net.reshape(net.op("slice", (turned,), cut), *size[1:]) for cut in cuts]


def weighted(net: Net, query: str, key: str, value: str, masked: bool = False) -> str:
    """Sums of values; scores may have a bias for each window, which all heads share."""
    scores = product(net, query, key, adj_y=True)
    count, heads, steps, _ = net.shape(scores)
    scores = net.add(scores, net.random(heads, steps, steps))
    if masked:
        wide = net.reshape(scores, 1, count, heads, steps, steps)
        wide = net.add(wide, net.random(1, count, 1, steps, steps))
        scores = net.reshape(wide, count, heads, steps, steps)
    return product(net, net.op("softmax", (scores,), SoftmaxAttrs()), value)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_thirds_of_a_layer_are_moved_with_their_windows(heads, masked):
    net = Net((1, 4, 24, 48 * heads))
    parts = thirds(net, windows_of(net, "x", wide=12), heads)
    graph = moved(net, net.transpose(weighted(net, *parts, masked=masked), BACK))
    assert ops(graph).count("transpose") == 2
    (first, *_) = (n for n in graph.nodes if n.op == "transpose")
    assert len(graph.value(first.output).shape) == 6


def parts_of(net: Net, x: str, axis: int, drops: bool) -> list[str]:
    """Each element along an axis, cut as STRIDED_SLICE does with or without its shrink mask."""
    shape = net.shape(x)
    size = tuple(1 if i == axis else n for i, n in enumerate(shape))
    begins = [tuple(at if i == axis else 0 for i in range(len(shape))) for at in range(shape[axis])]
    gone = (axis,) if drops else ()
    cuts = [net.op("slice", (x,), SliceAttrs(b, size, (1,) * len(size), gone)) for b in begins]
    return cuts if drops else [net.reshape(cut, *size[:axis], *size[axis + 1 :]) for cut in cuts]


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("cut_first", [False, True])
@pytest.mark.parametrize("windowed", [False, True])
def test_thirds_are_moved_at_once_however_they_are_cut(windowed, cut_first, drops):
    net = Net((1, 4, 24, 96) if windowed else (1, 24, 96))
    tokens = windows_of(net, "x", wide=12) if windowed else net.op("tanh", ("x",))
    count, steps, channels = net.shape(tokens)
    layer = net.reshape(net.dense(tokens, 3 * channels), count, steps, 3, 2, channels // 2)
    if cut_first:
        parts = [net.transpose(part, BACK) for part in parts_of(net, layer, 2, drops)]
    else:
        parts = parts_of(net, net.transpose(layer, (2, 0, 3, 1, 4)), 0, drops)
    sums = net.transpose(weighted(net, *parts), BACK)
    graph = net.graph(net.dense(net.reshape(sums, count, steps, channels), 8))
    after = optimize(graph)
    assert_same(graph, after)
    assert ops(after).count("transpose") == 1
    assert len(after.nodes) <= 18


@pytest.mark.parametrize("masked", [False, True])
def test_layers_of_their_own_are_moved_by_themselves(masked):
    net = Net((1, 4, 20, 16))
    tokens = windows_of(net, "x")
    parts = [heads_of(net, tokens) for _ in range(3)]
    graph = moved(net, net.transpose(weighted(net, *parts, masked=masked), BACK))
    assert ops(graph).count("transpose") == 4


def parts_of_heads(net: Net) -> str:
    """Queries, keys and values side by side in each head."""
    heads = heads_of(net, windows_of(net, "x"))
    size = (*net.shape(heads)[:3], 2)
    cuts = [SliceAttrs((0, 0, 0, at), size, (1,) * 4) for at in (0, 2, 4)]
    parts = [net.op("slice", (heads,), cut) for cut in cuts]
    return net.transpose(weighted(net, *parts), BACK)


def test_parts_of_heads_are_cut_from_what_is_moved_once():
    net = Net((1, 4, 20, 12))
    assert ops(moved(net, parts_of_heads(net))).count("transpose") == 2


def normalised(net: Net, tokens: str) -> str:
    mean = net.op("mean", (tokens,), MeanAttrs((2,), keep_dims=True))
    centred = net.add(tokens, net.mul(mean, -1.0))
    return net.add(net.mul(centred, net.random(net.channels(tokens))), centred)


BETWEEN = {
    "a norm": normalised,
    "a function": lambda net, y: net.op("tanh", (y,)),
    "a constant for all": lambda net, y: net.add(y, 2.0),
    "a convolution": lambda net, y: net.reshape(
        net.conv(net.reshape(y, 4, 2, 10, 8), 8, 1), 4, 20, 8
    ),
    "some channels": lambda net, y: net.op(
        "slice", (y,), SliceAttrs((0, 0, 2), (4, 20, 4), (1, 1, 1))
    ),
    "rows in one dimension": lambda net, y: net.reshape(
        net.op("tanh", (net.reshape(y, 80, 8),)), 4, 20, 8
    ),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_rows_come_in_any_order(name):
    net = Net(IMAGE)
    heads = heads_of(net, BETWEEN[name](net, windows_of(net, "x")))
    graph = moved(net, net.transpose(attended(net, heads), BACK))
    assert ops(graph).count("transpose") == 2
    assert ops(graph)[0] == "reshape"


@pytest.mark.parametrize(("down", "across", "heads"), [*itertools.product((1, 2), repeat=3)])
def test_sizes_of_one(down, across, heads):
    """One window in a column, one in a row, or one head."""
    net = Net((1, 2 * down, 10 * across, 4 * heads))
    y = heads_of(net, windows_of(net, "x"), heads)
    graph = moved(net, net.transpose(attended(net, y), BACK))
    moving = [n for n in graph.nodes if n.op == "transpose" and _turns(graph, n)]
    assert len(moving) == (2 if heads > 1 else int(across > 1))


def test_a_move_of_thirds_leaves_no_more_than_two_of_single_windows():
    move = Move.of((1, 2, 3, 2, 5, 6, 4), (5, 0, 1, 3, 2, 4, 6))
    assert (move.shape, move.perm) == ((2, 3, 2, 5, 6, 4), (4, 0, 2, 1, 3, 5))
    assert move.lines == 6 * 2 * 2 * 3
    swapped = Move.of((3, 4, 5), (0, 2, 1))
    assert (swapped.shape, swapped.perm, swapped.lines) == ((3, 4, 5), (0, 2, 1), 15)


def many_windows(net: Net) -> str:
    """Heads of two elements in windows of two pixels' width, heads first."""
    sums = weighted(net, *thirds(net, windows_of(net, "x", wide=2)))
    return net.transpose(sums, BACK)


def other_rows(net: Net) -> str:
    tokens = windows_of(net, "x")
    return net.transpose(
        attended(net, heads_of(net, net.add(tokens, net.reshape("x", 4, 20, 8)))), BACK
    )


def rows_cut(net: Net) -> str:
    cut = SliceAttrs((0, 0, 0), (4, 10, 8), (1, 1, 1))
    tokens = net.op("slice", (windows_of(net, "x"),), cut)
    return net.transpose(attended(net, heads_of(net, tokens)), BACK)


def rows_backwards(net: Net) -> str:
    back = SliceAttrs((0, 19, 0), (4, 20, 8), (1, -1, 1))
    tokens = net.op("slice", (windows_of(net, "x"),), back)
    return net.transpose(attended(net, heads_of(net, tokens)), BACK)


def channels_moved(net: Net) -> str:
    turned = net.reshape(net.transpose("x", (0, 3, 1, 2)), 4, 20, 8)
    return net.transpose(attended(net, heads_of(net, turned)), BACK)


def no_layer(net: Net) -> str:
    tokens = net.op("tanh", (windows_of(net, "x"),))
    return net.transpose(net.reshape(tokens, 4, 20, 2, 4), BACK)


def by_token(net: Net) -> str:
    """A bias for each token, which must come in the token's order."""
    tokens = net.add(windows_of(net, "x"), net.random(20, 1))
    return net.transpose(attended(net, heads_of(net, tokens)), BACK)


def biased_by_rows(net: Net) -> str:
    """A bias of each channel that is a row's mean."""
    rows = net.reshape(windows_of(net, "x"), 80, 8)
    bias = net.op("mean", (rows,), MeanAttrs((1,)))
    layer = net.op("fully_connected", (rows, net.random(80, 8), bias), FullyConnectedAttrs())
    heads = net.transpose(net.reshape(layer, 4, 20, 2, 40), BACK)
    return net.transpose(attended(net, heads), BACK)


def not_by_window(net: Net) -> str:
    """Heads of rows that take parts of two windows."""
    parted = net.reshape(net.dense(windows_of(net, "x", wide=4), 8), 16, 5, 2, 4)
    return net.transpose(attended(net, net.transpose(parted, BACK)), BACK)


def image_taps(net: Net) -> str:
    tokens = net.reshape(windows_of(net, "x"), 4, 2, 10, 8)
    taps = net.reshape(net.conv(tokens, 8, 3), 4, 20, 8)
    return net.transpose(attended(net, heads_of(net, taps)), BACK)


def read_by_others(net: Net) -> tuple[str, ...]:
    heads = heads_of(net, windows_of(net, "x"))
    sums = net.transpose(attended(net, heads), BACK)
    return read_twice(net, net.op("softmax", (heads,), SoftmaxAttrs()), sums)


HEADS_FIRST, BEHIND = "heads_before_windows", "windows_behind_layers"
MISSES = {
    "seven dimensions": Miss(
        BEHIND,
        ((1, 4, 24, 96),),
        lambda net: net.transpose(weighted(net, *thirds(net, windows_of(net, "x", 2, 12))), BACK),
        "7 dimensions at once",
    ),
    "short lines": Miss(HEADS_FIRST, (IMAGE,), many_windows, "such short lines"),
    "rows of others": Miss(BEHIND, (IMAGE,), other_rows, "rows of others"),
    "some rows": Miss(BEHIND, (IMAGE,), rows_cut),
    "rows backwards": Miss(BEHIND, (IMAGE,), rows_backwards),
    "channels that move": Miss(BEHIND, (IMAGE,), channels_moved),
    "no layer": Miss(BEHIND, (IMAGE,), no_layer),
    "a bias by token": Miss(BEHIND, (IMAGE,), by_token),
    "a bias that is computed": Miss(BEHIND, (IMAGE,), biased_by_rows),
    "parts of windows": Miss(BEHIND, (IMAGE,), not_by_window, "it splits what"),
    "taps of neighbours": Miss(BEHIND, (IMAGE,), image_taps),
    "heads that others read": Miss(HEADS_FIRST, (IMAGE,), read_by_others, "in its order"),
    "windows that others read": Miss(
        BEHIND,
        (IMAGE,),
        lambda net: read_twice(net, y := windows_of(net, "x"), heads_of(net, y)),
        "is an output",
    ),
    "no windows": Miss(
        BEHIND, ((4, 20, 8),), lambda net: net.transpose(attended(net, heads_of(net, "x")), BACK)
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_near_misses(name):
    check(MISSES[name])


def test_answers_of_many_forms_stay():
    rng = np.random.default_rng(0)
    for _ in range(8):
        high, wide, heads, depth = (int(n) for n in rng.integers((1, 2, 1, 2), (4, 12, 4, 6)))
        net = Net((1, 2 * high, 3 * wide, heads * depth))
        y = heads_of(net, windows_of(net, "x", high, wide), heads)
        moved(net, net.transpose(attended(net, y), BACK))
    net = Net(IMAGE)
    assert ops(moved(net, attention(net))).count("transpose") == 2
