"""Examples of the passes that attention within windows gives occasion for."""

from __future__ import annotations

from tests.passes.example import Example
from tests.passes.example_parts import two_readers
from tests.passes.examples_heads import HEADS_AND_PATCHES, product
from tests.passes.random_net import RandomNet as Net
from tinyrt.ops.softmax import SoftmaxAttrs

IMAGE = (1, 4, 20, 8)
"""Two by two windows of two by ten pixels."""


def windows_of(net: Net, x: str, high: int = 2, wide: int = 10) -> str:
    """The tokens of an image's windows."""
    _, rows, columns, channels = net.shape(x)
    parted = net.reshape(x, rows // high, high, columns // wide, wide, channels)
    turned = net.transpose(parted, (0, 2, 1, 3, 4))
    return net.reshape(turned, rows * columns // (high * wide), high * wide, channels)


def heads_of(net: Net, tokens: str, heads: int = 2) -> str:
    """The heads of a layer's channels, of each window."""
    count, steps, channels = net.shape(tokens)
    layer = net.dense(tokens, channels)
    parted = net.reshape(layer, count, steps, heads, channels // heads)
    return net.transpose(parted, (0, 2, 1, 3))


def attended(net: Net, heads: str) -> str:
    """Sums of values that are queries and keys, too."""
    scores = net.add(product(net, heads, heads, adj_y=True), net.random(*net.shape(heads)[1:3], 1))
    return product(net, net.op("softmax", (scores,), SoftmaxAttrs()), heads)


def attention(net: Net, x: str = "x", high: int = 2, wide: int = 10) -> str:
    """The sums of all heads, as tokens lie in their windows."""
    sums = attended(net, heads_of(net, windows_of(net, x, high, wide)))
    return net.transpose(sums, (0, 2, 1, 3))


HEADS_AND_WINDOWS = HEADS_AND_PATCHES | {
    "heads_before_windows": Example(
        IMAGE,
        attention,
        lambda net: attended(net, heads_of(net, windows_of(net, "x"))),
        "is read in its order",
    ),
    "windows_behind_layers": Example(
        IMAGE,
        attention,
        lambda net: two_readers(net, y := windows_of(net, "x"), heads_of(net, y)),
        "is an output of the model",
    ),
}
