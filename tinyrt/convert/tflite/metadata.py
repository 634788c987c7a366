"""Entries of a .tflite file's metadata table."""

from __future__ import annotations

from typing import Any

from tinyrt.budget import current
from tinyrt.errors import ModelFormatError

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
