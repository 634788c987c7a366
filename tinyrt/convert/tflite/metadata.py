"""Entries of a .tflite file's metadata table."""

from __future__ import annotations

from typing import Any

import tflite

from tinyrt.budget import current, limited
from tinyrt.convert.tflite.schema import IDENTIFIER
from tinyrt.convert.tflite.tensors import Buffer
from tinyrt.errors import ModelFormatError, boundary

PARSED = 100
"""Bytes of memory for each byte of JSON, generously."""


def read_entry(model: Any, name: str) -> bytes | None:
    """The bytes of an entry; None where the file has none of this name.

    Args:
        model: the file's root table.
        name: the entry's.

    Raises:
        ModelFormatError: it is in a buffer that the file does not have.

    """
    for i in range(model.MetadataLength()):
        entry = model.Metadata(i)
        if entry.Name() == name.encode():
            index = entry.Buffer()
            if index >= model.BuffersLength():
                raise ModelFormatError(
                    f"metadata '{name}' is buffer {index} of {model.BuffersLength()}",
                    expected=f"0 to {model.BuffersLength() - 1}",
                )
            buffer = model.Buffers(index)
            current().reserve(PARSED * buffer.DataLength(), f"metadata '{name}'")
            return bytes(buffer.DataAsNumpy()) if buffer.DataLength() else b""
    return None


def entry_of(data: Buffer, name: str) -> bytes | None:
    """As ``read_entry``, of a file's bytes; None, too, of a file that is no .tflite model."""
    if bytes(data[4:8]) != IDENTIFIER:
        return None
    parsers = ("flatbuffers", "tflite")
    with limited(file_bytes=len(data)), boundary(".tflite file", parsers=parsers):
        return read_entry(tflite.Model.GetRootAs(data), name)
