"""What mutators put in place of what was there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

Rng = np.random.Generator
T = TypeVar("T")

NUMBERS = (
    *(0, 1, -1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 100, 127, 128, -128, 255, 256),
    *(-2, -3, -7, 1000, 4095, 4096, 32767, -32768, 65535, 65536, 65537, 2**20, 2**24, 2**28),
    *(
        2**30,
        2**31 - 1,
        -(2**31),
        2**31,
        2**32 - 1,
        2**32,
        2**40,
        2**53,
        2**62,
        2**63 - 1,
        -(2**63),
    ),
)
REALS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-3, 0.9999, 1.0001, 127.5, 1e4, -1e4, 1e-10, 1e10, 1e-30),
    *(1e30, -1e30, 3.4028235e38, -3.4028235e38, 1e-38, 1e-45, float("inf"), float("-inf")),
    float("nan"),
)
NAMES = (
    *("", " ", "x", "y", ".", "..", "/", "../../x", "/dev/full", "a\0b", "a" * 300, "a/b:0", "*/"),
    *("*\\ x \\*", "??/", "%s%n", "[/b]", "[red]", "\x1b[31m", "é", "𝕏", "\ud7ff", "a\nb", "int"),
    *("NULL", "tinyrt_add", "x;y", '"', "'", "<b>", "&amp;", "{{ x }}", "$(x)", "`x`", "-o", "nan"),
)


def pick(rng: Rng, choices: Sequence[T]) -> T:
    """One of them."""
    return choices[int(rng.integers(len(choices)))]


def number(rng: Rng, before: int = 0) -> int:
    """A number that readers find hard, or one near the one before."""
    kind = rng.random()
    if kind < 0.3:
        return before + int(pick(rng, (1, -1, 2, -2, 7)))
    if kind < 0.4:
        return -before if before else int(rng.integers(64))
    if kind < 0.5:
        return before * int(pick(rng, (2, 3, 1000, 2**16)))
    if kind < 0.6:
        return int(rng.integers(-(2**31), 2**31))
    return int(pick(rng, NUMBERS))


def small(rng: Rng) -> int:
    """A number of the size that counts, indices and enums have."""
    return int(rng.integers(-2, 20))


def real(rng: Rng, before: float = 0.0) -> float:
    """A float that arithmetic finds hard, or one near the one before."""
    if rng.random() < 0.35:
        return float(before) * float(pick(rng, (2, 0.5, -1, 1000, 1e-3, 1.01)))
    return float(pick(rng, REALS))


def text(rng: Rng, known: Sequence[str] = ()) -> str:
    """A name that means something elsewhere, or another one of the file's."""
    return pick(rng, known) if known and rng.random() < 0.5 else pick(rng, NAMES)


def shape(rng: Rng, before: Sequence[int] = ()) -> list[int]:
    """Dimensions: others, more, fewer, very many, very large, none."""
    dims = [int(n) for n in before]
    kind = int(rng.integers(10))
    if kind < 4 and dims:
        at = int(rng.integers(len(dims)))
        dims[at] = number(rng, dims[at]) if rng.random() < 0.6 else small(rng)
    elif kind == 4:
        dims = [int(n) for n in rng.permutation(np.array(dims, np.int64))]
    elif kind == 5:
        dims.insert(int(rng.integers(len(dims) + 1)), int(pick(rng, (1, 1, 1, 2, 0, -1))))
    elif kind == 6 and dims:
        del dims[int(rng.integers(len(dims)))]
    elif kind == 7:
        dims = [int(pick(rng, (1, 1, 2)))] * int(pick(rng, (0, 5, 6, 7, 9, 33, 64, 65, 200)))
    elif kind == 8:
        dims = [int(pick(rng, (2**8, 2**16, 2**31 - 1)))] * int(pick(rng, (1, 2, 3, 4)))
    else:
        dims = [small(rng) for _ in range(int(rng.integers(6)))]
    return dims


def of_bytes(rng: Rng, data: bytes, most: int = 6) -> bytes:
    """The bytes with a few changes: bytes, bits, words, runs, the end."""
    found = bytearray(data or b"\0")
    for _ in range(int(rng.integers(1, most + 1))):
        at, length = int(rng.integers(len(found))), int(rng.integers(1, 9))
        kind = int(rng.integers(7))
        if kind == 0:
            found[at] = int(rng.integers(256))
        elif kind == 1:
            found[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            word = int(pick(rng, NUMBERS)) % 2**32
            found[at : at + 4] = word.to_bytes(4, "little")
        elif kind == 3:
            start = int(rng.integers(len(found)))
            found[at : at + length] = found[start : start + length]
        elif kind == 4:
            del found[at : at + length]
        elif kind == 5:
            found[at:at] = found[at : at + length]
        elif rng.random() < 0.2:
            del found[at:]
        else:
            found[at : at + length] = rng.bytes(length)
        found = found or bytearray(b"\0")
    return bytes(found)


def some(rng: Rng, items: list[Any]) -> int | None:
    """The place of one of the items, if there are any."""
    return int(rng.integers(len(items))) if len(items) else None
