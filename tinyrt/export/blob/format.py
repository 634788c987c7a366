"""A blob's bytes: a header of 128, then the body. ``tinyrt_blob.h`` describes the same to C."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass

MAGIC = b"TRTB"
VERSION = 1
HEADER_BYTES = 128
STRUCTURE_BYTES = 16
MAX_REVISION = 2**32 - 1

_HEADER = struct.Struct("<4sIII16sII32s32s20x")
"""All of the header but its own CRC-32, which is its last word."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A model's constants.

    Attributes:
        structure: what the code that reads them assumes, as a digest of 16 bytes.
        body: the constants; a multiple of 8 bytes.
        revision: a number of the user's.
        model_sha256: of the model's file; zeros for a model without one.

    """

    structure: bytes
    body: bytes
    revision: int = 0
    model_sha256: bytes = bytes(32)

    def packed(self) -> bytes:
        """The blob as it lies in flash."""
        start = _HEADER.pack(
            *(MAGIC, VERSION, HEADER_BYTES, HEADER_BYTES + len(self.body), self.structure),
            *(zlib.crc32(self.body), self.revision, hashlib.sha256(self.body).digest()),
            self.model_sha256,
        )
        return start + struct.pack("<I", zlib.crc32(start)) + self.body
