"""What a layer that learns saves: a header of four words, and words behind it."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError

MAGIC = 0x6E726C74
HEADER = 4
"""Words in front of what is saved: magic, identity, number of the save, CRC-32."""


def pack(identity: int, number: int, words: NDArray[np.int32]) -> bytes:
    """The bytes that the C code saves."""
    body = words.astype("<i4").tobytes()
    head = np.array([MAGIC, identity, number], "<u4").tobytes()
    crc = zlib.crc32(head + body)
    return head + crc.to_bytes(4, "little") + body


def unpack(saved: bytes, identity: int, count: int) -> tuple[int, NDArray[np.int32]]:
    """The number of a save, and its words.

    Args:
        saved: what ``pack`` or the C code gave.
        identity: of the layer.
        count: how many words it has.

    Raises:
        DataError: the bytes are damaged, or another layer's.

    """
    expected = 4 * (HEADER + count)
    words = np.frombuffer(saved, "<u4") if len(saved) == expected else np.zeros(HEADER, "<u4")
    crc = zlib.crc32(saved[:12] + saved[16:])
    if words[0] != MAGIC or words[3] != crc:
        raise DataError(
            f"{len(saved)} bytes that no layer has saved, or that are damaged",
            expected=f"{expected} bytes, as save() gives them",
        )
    if words[1] != identity:
        raise DataError(
            "the bytes are of another layer",
            expected=f"the identity {identity:08x}, found {int(words[1]):08x}",
        )
    return int(words[2]), words[HEADER:].astype(np.uint32).view(np.int32)
