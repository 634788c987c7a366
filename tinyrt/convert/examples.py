"""Sizes that hints suggest for open dimensions: what inputs of such a name or rank often have."""

from __future__ import annotations

import re

BY_NAME = {
    "batch|^n$": 1,
    "channel|^c$": 3,
    "height|width|^h$|^w$": 224,
    "token|seq|text|sentence|context|^s$": 128,
    "sample|audio|wav|signal": 16_000,
    "mel|feature|freq": 80,
    "frame|time|step|len|^t$": 100,
}
"""Pattern of a dimension's symbol -> its size."""

TOKENS, IMAGE, FRAMES, SAMPLES = 128, (1, 3, 224, 224), (1, 100, 80), (1, 16_000)


def example_size(symbol: str, place: int, rank: int, *, is_index: bool) -> int:
    """A size that a model's input may well have there.

    Args:
        symbol: the dimension's name in the file.
        place: its position.
        rank: how many dimensions the input has.
        is_index: whether the input holds indices, such as tokens.

    """
    for pattern, size in BY_NAME.items():
        if re.search(pattern, symbol.lower()):
            return size
    if is_index:
        return TOKENS if place else 1
    by_rank = {len(shape): shape for shape in (SAMPLES, FRAMES, IMAGE)}
    return by_rank[rank][place] if rank in by_rank else 32 if place else 1
