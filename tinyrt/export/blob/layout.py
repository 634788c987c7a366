"""The body of a blob: a C struct whose members lie at known offsets, on every core alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 8
"""Bytes that a blob's address, and its size, are multiples of."""

ARRAY_ALIGNMENT = 4
"""Bytes that an array begins at a multiple of, at least: kernels read words."""

ELEMENTS = {
    "int8_t": "<i1",
    "uint8_t": "<u1",
    "int16_t": "<i2",
    "uint16_t": "<u2",
    "int32_t": "<i4",
    "uint32_t": "<u4",
    "int64_t": "<i8",
    "uint64_t": "<u8",
    "float": "<f4",
}
"""C type of an element -> its bytes in a blob."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """Some constants.

    Attributes:
        ctype: of an element.
        data: the elements.
        single: whether it is one number rather than an array.

    """

    ctype: str
    data: NDArray[np.generic]
    single: bool = False

    @property
    def packed(self) -> bytes:
        """The elements, little end first."""
        return np.ascontiguousarray(self.data).astype(ELEMENTS[self.ctype]).tobytes()

    @property
    def alignment(self) -> int:
        """What its offset is a multiple of."""
        size = np.dtype(ELEMENTS[self.ctype]).itemsize
        return size if self.single else max(size, ARRAY_ALIGNMENT)


@dataclass(frozen=True, slots=True)
class Field:
    """A line of the struct: a member, or the bytes between two of them."""

    ctype: str
    name: str
    size: int | None
    packed: bytes

    def __str__(self) -> str:
        return f"{self.ctype} {self.name}{'' if self.size is None else f'[{self.size}]'};"


def fields_of(members: Mapping[str, Member]) -> list[Field]:
    """The struct's fields: single numbers first, where short offsets reach them."""
    return list(_fields(members))


def _fields(members: Mapping[str, Member]) -> Iterator[Field]:
    at = pads = 0
    for name, member in sorted(members.items(), key=lambda item: not item[1].single):
        if gap := -at % member.alignment:
            yield Field("uint8_t", f"unused_{pads}", gap, bytes(gap))
            pads += 1
        packed = member.packed
        yield Field(member.ctype, name, None if member.single else member.data.size, packed)
        at += gap + len(packed)
    if gap := -at % ALIGNMENT or (ALIGNMENT if at == 0 else 0):
        yield Field("uint8_t", f"unused_{pads}", gap, bytes(gap))


def body_of(fields: list[Field]) -> bytes:
    """The struct's bytes."""
    return b"".join(field.packed for field in fields)
