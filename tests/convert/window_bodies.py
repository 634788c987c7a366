"""Blocks whose attention stays within windows of an image, as PyTorch's exporter writes them."""

from __future__ import annotations

import numpy as np

from tests.convert.attention_bodies import HEADS, H, W, dense, shaped, split
from tests.convert.onnx_build import OnnxModel

HIGH, WIDE = 3, 5
"""Pixels of a window."""

ROWS, COLUMNS = H // HIGH, W // WIDE
COUNT, TOKENS = ROWS * COLUMNS, HIGH * WIDE

DEPTH = 32
CHANNELS = HEADS * DEPTH


def image_of(m: OnnxModel, x: str) -> str:
    """(1, 8, H, W) as (1, H, W, CHANNELS)."""
    wider = m.op("Conv", x, m.weights(CHANNELS, 8, 1, 1), m.weights(CHANNELS))
    return m.op("Transpose", wider, perm=[0, 2, 3, 1])


def cut(m: OnnxModel, image: str) -> str:
    """An image as the tokens of windows."""
    y = shaped(m, image, 1, ROWS, HIGH, COLUMNS, WIDE, CHANNELS)
    return shaped(m, m.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), COUNT, TOKENS, CHANNELS)


def together(m: OnnxModel, y: str) -> str:
    """The tokens of windows as an image."""
    y = shaped(m, y, 1, ROWS, COLUMNS, HIGH, WIDE, CHANNELS)
    return shaped(m, m.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), 1, H, W, CHANNELS)


def thirds(m: OnnxModel, y: str) -> list[str]:
    """Queries, keys and values that one layer computes, behind one transpose."""
    qkv = shaped(m, dense(m, y, CHANNELS, 3 * CHANNELS), COUNT, TOKENS, 3, HEADS, DEPTH)
    parted = m.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    return [m.op("Gather", parted, m.const(i, np.int64), axis=0) for i in range(3)]


def scores_of(m: OnnxModel, query: str, key: str) -> str:
    return m.op("MatMul", query, m.op("Transpose", key, perm=[0, 1, 3, 2]))


def summed(m: OnnxModel, scores: str, value: str) -> str:
    """A layer of the sums of values, whose heads come back to their tokens."""
    sums = m.op("MatMul", m.op("Softmax", scores, axis=-1), value)
    sums = m.op("Transpose", sums, perm=[0, 2, 1, 3])
    return dense(m, shaped(m, sums, COUNT, TOKENS, CHANNELS), CHANNELS, CHANNELS)


def rolled(m: OnnxModel, x: str, axis: int, first: int, size: int) -> str:
    """The image that begins at another row or column, and goes round."""
    low, high = split(m, x, axis, first, size - first)
    return m.op("Concat", high, low, axis=axis)


def normed(m: OnnxModel, x: str) -> str:
    return m.op("LayerNormalization", x, m.weights(CHANNELS), m.weights(CHANNELS), axis=-1)


def swin(m: OnnxModel, x: str) -> str:
    """Swin's: a bias by the places in a window."""
    image = image_of(m, x)
    query, key, value = thirds(m, cut(m, image))
    scores = m.op("Add", scores_of(m, query, key), m.weights(1, HEADS, TOKENS, TOKENS))
    return m.op("Add", image, together(m, summed(m, scores, value)))


def shifted(m: OnnxModel, x: str) -> str:
    """Swin's: windows of a shifted image, where masks keep its ends apart."""
    image = image_of(m, x)
    y = rolled(m, rolled(m, image, 1, 1, H), 2, 1, W)
    query, key, value = thirds(m, cut(m, y))
    scores = scores_of(m, m.op("Mul", query, m.const(0.25)), key)
    scores = m.op("Add", scores, m.weights(1, HEADS, TOKENS, TOKENS))
    apart = np.where(m.rng.random((1, COUNT, 1, TOKENS, TOKENS)) < 0.3, -100.0, 0.0)
    by_window = shaped(m, scores, 1, COUNT, HEADS, TOKENS, TOKENS)
    masked = m.op("Add", by_window, m.const(apart.astype(np.float32)))
    y = together(m, summed(m, shaped(m, masked, COUNT, HEADS, TOKENS, TOKENS), value))
    return m.op("Add", image, rolled(m, rolled(m, y, 1, H - 1, H), 2, W - 1, W))


def three_layers(m: OnnxModel, x: str) -> str:
    """Swin's, as transformers writes it: queries, keys and values of three layers."""
    image = image_of(m, x)
    y = cut(m, image)
    query, key, value = (
        m.op(
            "Transpose",
            shaped(m, dense(m, y, CHANNELS, CHANNELS), COUNT, TOKENS, HEADS, DEPTH),
            perm=[0, 2, 1, 3],
        )
        for _ in range(3)
    )
    scores = m.op("Div", scores_of(m, query, key), m.const(4.0))
    scores = m.op("Add", scores, m.weights(1, HEADS, TOKENS, TOKENS))
    return m.op("Add", image, together(m, summed(m, scores, value)))


def whole_block(m: OnnxModel, x: str) -> str:
    """The same with the layers behind its attention, which need more memory."""
    y = three_layers(m, x)
    wide = m.op("Tanh", dense(m, normed(m, y), CHANNELS, 4 * CHANNELS))
    return m.op("Add", y, dense(m, wide, 4 * CHANNELS, CHANNELS))


def tiny_vit(m: OnnxModel, x: str) -> str:
    """TinyViT's: tokens are normalised in their windows; the parts of each head side by side."""
    image = image_of(m, x)
    y = normed(m, cut(m, image))
    heads = shaped(m, dense(m, y, CHANNELS, 3 * CHANNELS), COUNT, TOKENS, HEADS, 3 * DEPTH)
    query, key, value = (
        m.op("Transpose", part, perm=[0, 2, 1, 3]) for part in split(m, heads, 3, *[DEPTH] * 3)
    )
    scores = m.op("Mul", scores_of(m, query, key), m.const(0.25))
    scores = m.op("Add", scores, m.weights(HEADS, TOKENS, TOKENS))
    return m.op("Add", image, together(m, summed(m, scores, value)))


def davit(m: OnnxModel, x: str) -> str:
    """DaViT's: windows without biases."""
    image = image_of(m, x)
    query, key, value = thirds(m, cut(m, normed(m, image)))
    scores = scores_of(m, m.op("Mul", query, m.const(0.25)), key)
    return m.op("Add", image, together(m, summed(m, scores, value)))
