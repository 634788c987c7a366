"""Attention, with PyTorch's masks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import DataError, ShapeError
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.functional import where
from tinyrt.train.nn import Linear, Module

Mask = Tensor | ArrayLike | None
"""Truth values, which hide, or numbers, which are added to the scores."""

HIDDEN = -math.inf
"""Added to a score, it takes all of its weight."""


class MultiHeadAttention(Module):
    """Every position looks at every other (Vaswani et al. 2017, section 3.2).

    Per head, ``softmax(Q K^T / sqrt(d)) V`` with linear maps of the input as Q, K and V; the
    heads' results side by side go through another linear map.

    Args:
        channels: of input and output.
        heads: into how many parts the channels are split.
        rng: draws the weights.
        causal: whether a position looks at itself and those before it only.

    Raises:
        ShapeError: the heads do not divide the channels.

    """

    def __init__(
        self, channels: int, heads: int, *, rng: np.random.Generator, causal: bool = False
    ) -> None:
        if channels % heads:
            raise ShapeError(f"{heads} heads for {channels} channels", expected="a divisor of them")
        self.heads, self.causal = heads, causal
        self.query, self.key, self.value, self.output = (
            Linear(channels, channels, rng=rng) for _ in range(4)
        )

    def forward(self, x: Tensor, attn_mask: Mask = None, key_padding_mask: Mask = None) -> Tensor:
        """(n, t, channels) -> the same shape.

        Args:
            x: the input.
            attn_mask: (t, t) or (n, t, t): true where the first position does not see the second,
                or numbers that are added to the scores.
            key_padding_mask: (n, t): the same for positions that nobody sees, as what fills up a
                batch.

        Raises:
            ShapeError: a mask has another shape.
            DataError: a position sees none.

        """
        n, t, channels = x.shape
        d = channels // self.heads
        q, k, v = (
            layer(x).reshape(n, t, self.heads, d).transpose(0, 2, 1, 3)
            for layer in (self.query, self.key, self.value)
        )
        scores = (q @ k.transpose(0, 1, 3, 2)) * (1 / math.sqrt(d))
        masks = [
            _of_pairs(attn_mask, "attn_mask", {(t, t): (1, 1, t, t), (n, t, t): (n, 1, t, t)}),
            _of_pairs(key_padding_mask, "key_padding_mask", {(n, t): (n, 1, 1, t)}),
            np.triu(np.ones((1, 1, t, t), np.bool), 1) if self.causal else None,
        ]
        scores = _masked(scores, masks)
        mixed = apply("softmax", SoftmaxAttrs(), scores) @ v  # (n, heads, t, d)
        return self.output(mixed.transpose(0, 2, 1, 3).reshape(n, t, channels))


def _of_pairs(
    mask: Mask, name: str, shapes: dict[tuple[int, ...], tuple[int, ...]]
) -> Tensor | Array | None:
    """The mask in a shape that goes with scores, (n, heads, t, t)."""
    if mask is None:
        return None
    given = mask if isinstance(mask, Tensor) else np.asarray(mask)
    if given.shape not in shapes:
        raise ShapeError(f"{name} has shape {given.shape}", expected=" or ".join(map(str, shapes)))
    return given.reshape(shapes[given.shape])


def _masked(scores: Tensor, masks: list[Tensor | Array | None]) -> Tensor:
    """Scores with what is hidden, and what is added; constants are one number for each score."""
    added = np.zeros((1, 1, 1, 1), scores.dtype)
    for mask in masks:
        if isinstance(mask, Tensor):
            is_true = mask.data.dtype.kind == "b"
            scores = where(mask, HIDDEN, scores) if is_true else scores + mask
        elif mask is not None:
            added = added + (np.where(mask, HIDDEN, 0) if mask.dtype == np.bool else mask)
    if (added.max(axis=-1) == HIDDEN).any():
        raise DataError(
            "a position of attention sees no position",
            expected="one at least that the masks do not hide",
            hint="leave samples out that are padding alone",
        )
    return scores + added.astype(scores.dtype) if added.any() else scores
