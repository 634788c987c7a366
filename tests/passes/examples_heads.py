"""Examples of the passes that attention and unfolded images give occasion for."""

from __future__ import annotations

import numpy as np

from tests.passes.example import Example
from tests.passes.example_parts import joined, two_readers
from tests.passes.random_net import RandomNet as Net
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

HEADS = (1, 2, 3, 4)
"""Two heads of three tokens, four numbers each."""


def table(net: Net, x: str, axis: int, count: int, steps: int, *, backwards: bool = False) -> str:
    """What an unfolded image picks along an axis: for each of its patches' places, all patches."""
    places = np.arange(count * steps).reshape(steps, count).T.reshape(-1)
    indices = tuple(int(i) for i in (places[::-1] if backwards else places))
    return net.op("gather", (x,), GatherAttrs(axis, indices, (count, steps)))


def tokens(net: Net, x: str) -> str:
    """The heads of each token side by side."""
    n, heads, steps, depth = net.shape(x)
    return net.reshape(net.transpose(x, (0, 2, 1, 3)), n, steps, heads * depth)


def product(net: Net, a: str, b: str, adj_x: bool = False, adj_y: bool = False) -> str:
    return net.op("batch_matmul", (a, b), BatchMatmulAttrs(adj_x, adj_y))


def cut_heads(
    net: Net, x: str = "x", places: tuple[int, ...] = (0, 1, 2), drop: bool = False
) -> list[str]:
    """Parts of the third dimension of (1, 5, 3, 8), each with its two heads turned."""
    made = []
    for i in places:
        attrs = SliceAttrs((0, 0, i, 0), (1, 5, 1, 8), (1, 1, 1, 1), (2,) if drop else ())
        part = net.reshape(net.op("slice", (x,), attrs), 5, 1, 2, 4)
        made.append(net.transpose(part, (1, 2, 0, 3)))
    return made


def turned_heads(net: Net, x: str, heads: int = 2) -> str:
    """The channels of 6 tokens, in heads that come first."""
    return net.transpose(net.reshape(x, 1, 6, heads, -1), (0, 2, 1, 3))


def wide(net: Net, *made: str) -> str:
    """What is made, joined, behind layers that need more memory than it."""
    flat = net.op("concatenation", [net.reshape(y, 1, -1) for y in made], ConcatenationAttrs(1))
    return net.dense(net.op("tanh", (net.dense(flat, 500),)), 5)


def layers_of_heads(net: Net, *widths: int) -> list[str]:
    """Heads of several layers that read the same tokens."""
    return [turned_heads(net, net.dense("x", width)) for width in widths]


def heads_of_cuts(net: Net, x: str, *widths: int) -> list[str]:
    """Heads of slices of the channels, one behind the other."""
    made, at = [], 0
    for width in widths:
        attrs = SliceAttrs((0, at), (6, width), (1, 1))
        made.append(turned_heads(net, net.op("slice", (x,), attrs)))
        at += width
    return made


def half_back(net: Net, last: tuple[int, ...]) -> str:
    """Half of the channels of an image that was turned, turned again."""
    attrs = SliceAttrs((0, 2, 0, 0), (1, 2, 6, 5), (1, 1, 1, 1))
    return net.transpose(net.op("slice", (net.transpose("x", (0, 3, 1, 2)),), attrs), last)


def attention(net: Net, x: str = "x", heads: int = 2) -> str:
    """Of 6 tokens with a third each of queries, keys and values: sums as the tokens lie."""
    size = net.shape(x)[-1] // 3
    query, key, value = (
        turned_heads(
            net, net.op("slice", (x,), SliceAttrs((0, at), (6, size), (1, 1))), heads=heads
        )
        for at in (0, size, 2 * size)
    )
    scores = net.mul(product(net, query, key, adj_y=True), 0.5)
    weights = net.op("softmax", (scores,), SoftmaxAttrs())
    return net.transpose(product(net, weights, value), (0, 2, 1, 3))


def mixture(net: Net, x: str, heads: int, activation: str = "NONE") -> str:
    """A dense layer, with a bias, of whatever has channels."""
    inputs = (x, net.random(heads, net.channels(x)), net.random(heads))
    return net.op("fully_connected", inputs, FullyConnectedAttrs(True, activation))


def mixed_heads(net: Net, x: str, heads: int) -> str:
    """A layer's mixtures of the heads of (1, heads, n, n)."""
    return net.transpose(mixture(net, net.transpose(x, (0, 2, 3, 1)), heads), (0, 3, 1, 2))


def keys_of_image(net: Net, x: str) -> str:
    """Two heads' keys (1, 2, 2, 30) of an image of 30 pixels: depths, then tokens."""
    return net.reshape(net.transpose(x, (0, 3, 1, 2)), 1, 2, 2, 30)


def channels_first(net: Net, *sizes: int) -> list[str]:
    """Channels of an image that is turned, one behind the other, each as a matrix by rows."""
    turned, made, at = net.transpose("x", (0, 3, 1, 2)), [], 0
    for size in sizes:
        attrs = SliceAttrs((0, at, 0, 0), (1, size, 6, 5), (1, 1, 1, 1))
        made.append(net.reshape(net.op("slice", (turned,), attrs), 1, size, 30))
        at += size
    return made


def attention_of_one_head(net: Net) -> str:
    query, key, value = channels_first(net, 2, 2, 4)
    shares = net.op("softmax", (product(net, query, key, adj_x=True),), SoftmaxAttrs())
    return product(net, shares, value, adj_y=True)


HEADS_AND_PATCHES = {
    "mix_heads": Example(
        (1, 2, 12, 12),
        lambda net: mixed_heads(net, "x", 3),
        lambda net: mixed_heads(net, "x", 9),
        "more than 8 heads",
    ),
    "regrouped_into_product": Example(
        (1, 6, 5, 4),
        lambda net: product(net, net.reshape("x", 1, 2, 30, 2), keys_of_image(net, "x")),
        lambda net: two_readers(
            net,
            y := keys_of_image(net, "x"),
            product(net, net.reshape("x", 1, 2, 30, 2), y),
        ),
        "has other readers",
    ),
    "cut_into_product": Example(
        (1, 6, 5, 8),
        attention_of_one_head,
        lambda net: two_readers(net, (y := channels_first(net, 2, 2))[0], product(net, *y, True)),
        "not all that is cut from it",
    ),
    "unroll_heads": Example(
        (6, 24),
        attention,
        lambda net: attention(net, net.dense("x", 54), heads=9),
        "more than 8 heads",
    ),
    "scale_before_moves": Example(
        (6, 8),
        lambda net: net.mul(turned_heads(net, net.dense("x", 8)), 0.5),
        lambda net: two_readers(net, y := turned_heads(net, net.dense("x", 8)), net.mul(y, 0.5)),
        "has other readers",
    ),
    "merge_heads": Example(
        (6, 8),
        lambda net: wide(net, *layers_of_heads(net, 8, 8, 8)),
        lambda net: wide(net, *layers_of_heads(net, 8, 12)),
        "differ in depth",
    ),
    "turn_heads": Example(
        (6, 16),
        lambda net: wide(net, *heads_of_cuts(net, "x", 8, 8)),
        lambda net: wide(net, *heads_of_cuts(net, "x", 4, 12)),
        "differ in depth",
    ),
    "cut_before_turn": Example(
        (1, 6, 5, 4),
        lambda net: half_back(net, (0, 2, 3, 1)),
        lambda net: half_back(net, (0, 3, 2, 1)),
        "does not undo",
    ),
    "turn_parts": Example(
        (1, 5, 3, 8),
        lambda net: joined(net, *cut_heads(net)),
        lambda net: net.add(*cut_heads(net, places=(0, 2))),
        "not all parts of 'x' are split and turned",
    ),
    "heads_into_layer": Example(
        HEADS,
        lambda net: net.dense(tokens(net, "x")),
        lambda net: two_readers(net, y := tokens(net, "x"), net.dense(y)),
        "has other readers",
    ),
    "transpose_into_left": Example(
        HEADS,
        lambda net: product(net, net.transpose("x", (0, 1, 3, 2)), "x"),
        lambda net: two_readers(net, y := net.transpose("x", (0, 1, 3, 2)), product(net, y, "x")),
        "has other readers",
    ),
    "turn_product": Example(
        HEADS,
        lambda net: net.transpose(product(net, "x", "x", adj_x=True), (0, 3, 1, 2)),
        lambda net: two_readers(
            net, y := product(net, "x", "x", adj_x=True), net.transpose(y, (0, 3, 1, 2))
        ),
        "has other readers",
    ),
    "gather_to_transpose": Example(
        (1, 3, 4, 6),
        lambda net: table(net, table(net, "x", 2, 2, 2), 4, 3, 2),
        lambda net: table(net, "x", 2, 2, 2, backwards=True),
        "not all, in even steps",
    ),
}
