"""A camera's frames as data: bytes as the sensor sends them, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp.pixels import FORMATS, Format, encoded
from tinyrt.errors import DataError

Array = NDArray[Any]

PIXELS = "pixels"
"""Name of the array that says how pixels are stored."""

WORD_BYTES, COLOURS = 2, 3


def pixels_in(arrays: Mapping[str, Array]) -> str | None:
    """How the data's pixels are stored: a name in ``FORMATS``; None where they do not say.

    Raises:
        DataError: there is no such format.

    """
    if PIXELS not in arrays:
        return None
    said = arrays[PIXELS]
    name = str(said.item()) if said.size == 1 and said.dtype.kind == "U" else None
    if name not in FORMATS:
        raise DataError(
            f"pixels are {said.dtype}{list(said.shape)}" if name is None else f"pixels '{name}'",
            expected="one of " + ", ".join(FORMATS),
            hint="np.savez(..., pixels='rgb565') says what the sensor sends",
        )
    return name


def frames_of(x: Array, pixels: str) -> NDArray[np.uint8]:
    """Frames as bytes, uint8 (n, height, line_bytes).

    Args:
        x: bytes as the sensor sends them, uint8 (n, height, ...); its 16-bit pixels as numbers,
            uint16 (n, height, width); or pictures, uint8 (n, height, width, 3), which become what
            the sensor would send of them, where its pixels have other than three bytes.
        pixels: how the sensor stores them.

    Raises:
        DataError: they are nothing of these.

    """
    kind = FORMATS[pixels]
    if not x.size:
        raise _unlike(x, pixels)
    if x.dtype == np.uint8 and x.ndim == 4 and x.shape[3] == COLOURS != kind.nbytes:
        if not kind.in_pairs or x.shape[2] % 2 == 0:
            return np.stack([encoded(kind, picture) for picture in x])
    elif x.dtype == np.uint16 and x.ndim == 3 and kind.nbytes == WORD_BYTES:
        return _lines(x.astype("<u2").view(np.uint8), kind, pixels)
    elif x.dtype == np.uint8 and x.ndim in (3, 4):
        return _lines(x, kind, pixels)
    raise _unlike(x, pixels)


def _lines(x: Array, kind: Format, pixels: str) -> NDArray[np.uint8]:
    lines = np.ascontiguousarray(x).reshape(*x.shape[:2], -1)
    pixel_bytes = kind.nbytes * (2 if kind.in_pairs else 1)
    if lines.shape[2] % pixel_bytes:
        raise _unlike(x, pixels)
    return lines


def _unlike(x: Array, pixels: str) -> DataError:
    nbytes = FORMATS[pixels].nbytes
    words = ", or uint16 (n, height, width)" if nbytes == WORD_BYTES else ""
    pairs = ", two pixels at a time" if FORMATS[pixels].in_pairs else ""
    return DataError(
        f"frames are {x.dtype}{list(x.shape)}",
        expected=f"uint8 (n, height, line bytes) of {nbytes} a pixel of {pixels}{pairs}{words}, or "
        "pictures uint8 (n, height, width, 3)",
    )
