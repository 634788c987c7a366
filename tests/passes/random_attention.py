"""Steps of random graphs: attention of pixels and in windows, and heads that are mixed."""

from __future__ import annotations

import math

from tests.passes.examples_heads import mixed_heads, product
from tests.passes.examples_windows import IMAGE, attended, heads_of, windows_of
from tests.passes.random_net import RandomNet, Rng
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

MOST_PIXELS = 31


def unmoved(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Of one head, whose parts are cut from channels that come first; scores of two; or mixed."""
    shape = net.shape(x)
    kind = int(rng.integers(3))
    if kind == 2:
        heads = net.reshape(net.dense(net.reshape(x, 1, math.prod(shape)), 288), 1, 2, 12, 12)
        return mixed_heads(net, heads, int(rng.integers(2, 4)))
    if len(shape) != 4 or shape[0] != 1 or math.prod(shape[1:3]) > MOST_PIXELS:
        return None
    pixels = math.prod(shape[1:3])
    image = net.conv(x, 8, 1)
    turned = net.transpose(image, (0, 3, 1, 2))
    if kind == 1:
        keys = net.reshape(turned, 1, 2, 4, pixels)
        scaled = net.mul(keys, 0.5) if rng.random() < 0.5 else keys
        return product(net, net.random(1, 2, 3, 4), scaled)
    parts = []
    for begin, count in ((0, 2), (2, 2), (4, 4)):
        attrs = SliceAttrs((0, begin, 0, 0), (1, count, *shape[1:3]), (1, 1, 1, 1))
        parts.append(net.reshape(net.op("slice", (turned,), attrs), 1, count, pixels))
    query, key, value = parts
    shares = net.op("softmax", (product(net, query, key, adj_x=True),), SoftmaxAttrs())
    return product(net, shares, value, adj_y=True)


def windowed(net: RandomNet, x: str, rng: Rng) -> str:
    """Attention within windows of an image that a layer makes of all elements."""
    flat = net.reshape(x, 1, math.prod(net.shape(x)))
    image = net.reshape(net.dense(flat, math.prod(IMAGE)), *IMAGE)
    heads = heads_of(net, windows_of(net, image, wide=int(rng.choice([5, 10]))))
    sums = attended(net, net.mul(heads, 0.5) if rng.random() < 0.5 else heads)
    return net.transpose(sums, (0, 2, 1, 3))
