"""Blocks whose tokens, heads or boxes change places, as PyTorch's exporter writes them."""

from __future__ import annotations

import numpy as np

from tests.convert.onnx_build import OnnxModel

H, W = 6, 10
"""Pixels."""

HEADS, DEPTH = 2, 4
"""Of 8 channels."""


def dense(m: OnnxModel, x: str, c_in: int, c_out: int, bias: bool = True) -> str:
    y = m.op("MatMul", x, m.weights(c_in, c_out))
    return m.op("Add", m.weights(c_out), y) if bias else y


def shaped(m: OnnxModel, x: str, *shape: int) -> str:
    return m.op("Reshape", x, m.ints(*shape))


def tokens_of(m: OnnxModel, x: str) -> str:
    """(1, 8, H, W) as (1, H * W, 8)."""
    return m.op("Transpose", shaped(m, x, 1, 8, H * W), perm=[0, 2, 1])


def split(m: OnnxModel, x: str, axis: int, *sizes: int) -> list[str]:
    first = m.op("Split", x, m.ints(*sizes), outputs=len(sizes), axis=axis)
    return [first, *(f"{first}_{i}" for i in range(1, len(sizes)))]


def to_heads(m: OnnxModel, x: str, heads: int = HEADS, depth: int = DEPTH) -> str:
    return m.op("Transpose", shaped(m, x, 1, -1, heads, depth), perm=[0, 2, 1, 3])


def attend(m: OnnxModel, query: str, key: str, value: str) -> str:
    """Sums of values, whose heads come back to their tokens: (1, H * W, 8)."""
    scores = m.op("MatMul", query, m.op("Transpose", key, perm=[0, 1, 3, 2]))
    weights = m.op("Softmax", m.op("Div", scores, m.const(2.0)), axis=-1)
    sums = m.op("Transpose", m.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return shaped(m, sums, 1, H * W, 8)


def bert(m: OnnxModel, x: str) -> str:
    """BERT's: queries, keys and values of three layers."""
    tokens = tokens_of(m, x)
    query, key, value = (to_heads(m, dense(m, tokens, 8, 8)) for _ in range(3))
    return m.op("Add", tokens, dense(m, attend(m, query, key, value), 8, 8))


def gpt(m: OnnxModel, x: str) -> str:
    """GPT-2's: thirds of one layer's channels."""
    tokens = tokens_of(m, x)
    thirds = split(m, dense(m, tokens, 8, 24), 2, 8, 8, 8)
    query, key, value = (to_heads(m, third) for third in thirds)
    return m.op("Add", tokens, dense(m, attend(m, query, key, value), 8, 8))


def rotated(m: OnnxModel, x: str) -> str:
    """The rotation of halves by an angle per token."""
    angles = np.arange(H * W)[:, None] * np.array([1.0, 0.1, 1.0, 0.1])
    low, high = split(m, x, 3, 2, 2)
    turned = m.op("Concat", m.op("Neg", high), low, axis=3)
    cosine, sine = (m.const(f(angles)[None, None]) for f in (np.cos, np.sin))
    return m.op("Add", m.op("Mul", x, cosine), m.op("Mul", turned, sine))


def llama(m: OnnxModel, x: str) -> str:
    """Llama's: three layers without biases, queries and keys rotated, half as many of these."""
    tokens = tokens_of(m, x)
    query = rotated(m, to_heads(m, dense(m, tokens, 8, 16, bias=False), 4))
    key, value = (to_heads(m, dense(m, tokens, 8, 8, bias=False)) for _ in range(2))
    shared = (
        shaped(
            m,
            m.op("Expand", shaped(m, y, 1, 2, 1, H * W, 4), m.ints(1, 2, 2, H * W, 4)),
            1, 4, H * W, 4,
        )
        for y in (rotated(m, key), value)
    )  # fmt: skip
    key, value = shared
    scores = m.op("MatMul", query, m.op("Transpose", key, perm=[0, 1, 3, 2]))
    sums = m.op("MatMul", m.op("Softmax", scores, axis=-1), value)
    joined = shaped(m, m.op("Transpose", sums, perm=[0, 2, 1, 3]), 1, H * W, 16)
    return m.op("Add", tokens, dense(m, joined, 16, 8, bias=False))


def vit(m: OnnxModel, x: str) -> str:
    """ViT's: one layer, of which timm cuts queries, keys and values behind one transpose."""
    tokens = tokens_of(m, x)
    qkv = shaped(m, dense(m, tokens, 8, 24), 1, H * W, 3, HEADS, DEPTH)
    parted = m.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    parts = (m.op("Gather", parted, m.const(i, np.int64), axis=0) for i in range(3))
    return m.op("Add", tokens, dense(m, attend(m, *parts), 8, 8))


def levit(m: OnnxModel, x: str) -> str:
    """LeViT's: the parts of each head come side by side."""
    tokens = tokens_of(m, x)
    heads = shaped(m, dense(m, tokens, 8, 16), 1, H * W, HEADS, 8)
    parts = split(m, heads, 3, 2, 2, 4)
    query, key, value = (m.op("Transpose", part, perm=[0, 2, 1, 3]) for part in parts)
    return m.op("Add", tokens, dense(m, attend(m, query, key, value), 8, 8))


def factored(m: OnnxModel, x: str) -> str:
    """CoaT's: a token of the class, and taps of the values multiplied with the queries."""
    tokens = m.op("Concat", m.weights(1, 1, 8), tokens_of(m, x), axis=1)
    count = H * W + 1
    qkv = shaped(m, dense(m, tokens, 8, 24), 1, count, 3, HEADS, DEPTH)
    parted = m.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    query, key, value = (m.op("Gather", parted, m.const(i, np.int64), axis=0) for i in range(3))
    context = m.op("Transpose", m.op("Softmax", key, axis=2), perm=[0, 1, 3, 2])
    sums = m.op("MatMul", query, m.op("MatMul", context, value))
    pixels = [split(m, y, 2, 1, H * W)[1] for y in (query, value)]
    image = shaped(m, m.op("Transpose", pixels[1], perm=[0, 1, 3, 2]), 1, 8, H, W)
    taps = m.op("Conv", image, m.weights(8, 1, 3, 3), m.weights(8), group=8, pads=[1] * 4)
    taps = m.op("Transpose", shaped(m, taps, 1, HEADS, DEPTH, H * W), perm=[0, 1, 3, 2])
    places = m.op("Mul", pixels[0], taps)
    places = m.op("Pad", places, m.ints(0, 0, 1, 0, 0, 0, 0, 0))
    y = m.op("Add", m.op("Mul", sums, m.const(0.5)), places)
    joined = shaped(m, m.op("Transpose", y, perm=[0, 2, 1, 3]), 1, count, 8)
    return m.op("Add", tokens, dense(m, joined, 8, 8))


def image_heads(m: OnnxModel, x: str, mixed: bool) -> str:
    """EfficientFormerV2's: three convolutions, taps of the values; heads that one mixes."""

    def pointwise(y: str, c_in: int, c_out: int) -> str:
        return m.op("Conv", y, m.weights(c_out, c_in, 1, 1), m.weights(c_out))

    query, key, value = pointwise(x, 8, 4), pointwise(x, 8, 4), pointwise(x, 8, 8)
    taps = m.op("Conv", value, m.weights(8, 1, 3, 3), m.weights(8), group=8, pads=[1] * 4)
    query = m.op("Transpose", shaped(m, query, 1, HEADS, 2, H * W), perm=[0, 1, 3, 2])
    value = m.op("Transpose", shaped(m, value, 1, HEADS, 4, H * W), perm=[0, 1, 3, 2])
    scores = m.op("MatMul", query, shaped(m, key, 1, HEADS, 2, H * W))
    scores = m.op("Add", m.op("Mul", scores, m.const(0.7)), m.weights(HEADS, H * W, H * W))
    scores = pointwise(scores, HEADS, HEADS) if mixed else scores
    weights = m.op("Softmax", scores, axis=-1)
    weights = pointwise(weights, HEADS, HEADS) if mixed else weights
    sums = m.op("Transpose", m.op("MatMul", weights, value), perm=[0, 1, 3, 2])
    y = m.op("Relu", m.op("Add", shaped(m, sums, 1, 8, H, W), taps))
    return m.op("Add", x, pointwise(y, 8, 8))


def plain_image_heads(m: OnnxModel, x: str) -> str:
    """EfficientFormerV2's."""
    return image_heads(m, x, mixed=False)


def mixed_image_heads(m: OnnxModel, x: str) -> str:
    """EfficientFormerV2's, whose heads a convolution mixes."""
    return image_heads(m, x, mixed=True)


def talking(m: OnnxModel, x: str) -> str:
    """CaiT's: dense layers mix heads, of scores and of shares."""

    def mixed(y: str) -> str:
        last = m.op("Transpose", y, perm=[0, 2, 3, 1])
        return m.op("Transpose", dense(m, last, HEADS, HEADS), perm=[0, 3, 1, 2])

    tokens = tokens_of(m, x)
    qkv = shaped(m, dense(m, tokens, 8, 24), 1, H * W, 3, HEADS, DEPTH)
    parted = m.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    query, key, value = (m.op("Gather", parted, m.const(i, np.int64), axis=0) for i in range(3))
    scores = m.op("MatMul", query, m.op("Transpose", key, perm=[0, 1, 3, 2]))
    weights = mixed(m.op("Softmax", mixed(scores), axis=-1))
    sums = m.op("Transpose", m.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return m.op("Add", tokens, dense(m, shaped(m, sums, 1, H * W, 8), 8, 8))


def cascaded(m: OnnxModel, x: str) -> str:
    """EfficientViT's: a head reads its channels and what the head before it answers."""
    answers: list[str] = []
    for part in split(m, x, 1, *[8 // HEADS] * HEADS):
        y = m.op("Add", answers[-1], part) if answers else part
        layer = m.op("Conv", y, m.weights(4 + DEPTH, 8 // HEADS, 1, 1), m.weights(4 + DEPTH))
        query, key, value = (
            shaped(m, third, 1, depth, H * W)
            for third, depth in zip(split(m, layer, 1, 2, 2, DEPTH), (2, 2, DEPTH), strict=True)
        )
        query = m.op("Mul", query, m.const(0.7))
        scores = m.op("MatMul", m.op("Transpose", query, perm=[0, 2, 1]), key)
        shares = m.op("Transpose", m.op("Softmax", scores, axis=-1), perm=[0, 2, 1])
        answers.append(shaped(m, m.op("MatMul", value, shares), 1, DEPTH, H, W))
    joined = m.op("Relu", m.op("Concat", *answers, axis=1))
    return m.op("Add", x, m.op("Conv", joined, m.weights(8, 8, 1, 1), m.weights(8)))


def mixer(m: OnnxModel, x: str) -> str:
    """MLP-Mixer's layers of tokens."""
    tokens = tokens_of(m, x)
    y = m.op("Relu", dense(m, m.op("Transpose", tokens, perm=[0, 2, 1]), H * W, 7))
    y = m.op("Add", tokens, m.op("Transpose", dense(m, y, 7, H * W), perm=[0, 2, 1]))
    return m.op("Relu", dense(m, y, 8, 5))


def grid_head(m: OnnxModel, x: str) -> str:
    """YOLOv5's: three boxes a cell, listed by anchor first."""
    y = m.op("Conv", x, m.weights(21, 8, 1, 1), m.weights(21))
    y = m.op("Transpose", shaped(m, y, 1, 3, 7, H, W), perm=[0, 1, 3, 4, 2])
    xy, wh, scores = split(m, m.op("Sigmoid", y), 4, 2, 2, 3)
    xy = m.op("Add", xy, m.weights(1, 3, H, W, 2))
    wh = m.op("Mul", m.op("Mul", wh, wh), m.weights(1, 3, 1, 1, 2))
    return shaped(m, m.op("Concat", xy, wh, scores, axis=4), 1, 3 * H * W, 7)
