"""How sensors store pixels, and the colours that their bytes stand for.

A number of 5 or 6 bits becomes 8 by its uppermost bits behind it, so that 0 and the largest become
0 and 255. Grey of colours is the luma of ITU-R BT.601; colours of YUV are those of JFIF, which has
all of 0 to 255. Factors are rounded to fractions of 15 and 14 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LUMA_BITS, LUMA = 15, (9798, 19235, 3735)
"""Of red, green and blue: 0.299, 0.587 and 0.114; their sum is one."""

YUV_BITS = 14
V_RED, U_GREEN, V_GREEN, U_BLUE = 22970, -5638, -11700, 29032
"""Of colour differences: 1.402, -0.344136, -0.714136 and 1.772."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a pixel is stored.

    Attributes:
        kind: what its bytes are: ``bytes``, each of a colour, ``rgb565`` or ``yuv422``.
        nbytes: of a pixel.
        places: of red, green and blue in a pixel's bytes; of a word's upper byte in ``rgb565``; of
            the first luma and both colour differences in a pair of pixels in ``yuv422``.

    """

    kind: str
    nbytes: int
    places: tuple[int, int, int]

    @property
    def in_pairs(self) -> bool:
        """Whether two pixels share their colour."""
        return self.kind == "yuv422"

    @property
    def has_luma(self) -> bool:
        """Whether it says itself how grey a pixel is."""
        return self.in_pairs or self.nbytes == 1


FORMATS = {
    "grey": Format("bytes", 1, (0, 0, 0)),
    "rgb888": Format("bytes", 3, (0, 1, 2)),
    "bgr888": Format("bytes", 3, (2, 1, 0)),
    "rgb565": Format("rgb565", 2, (1, 0, 0)),
    "rgb565_swapped": Format("rgb565", 2, (0, 0, 0)),
    "yuyv": Format("yuv422", 2, (0, 1, 3)),
    "uyvy": Format("yuv422", 2, (1, 0, 2)),
}
"""Name -> format. A word of ``rgb565`` has its lower byte first, swapped its upper one."""


def decoded(format_: Format, lines: NDArray[np.uint8], *, grey: bool) -> NDArray[np.uint8]:
    """Bytes uint8 (height, line_bytes) -> uint8 (height, width, 1) of grey or 3 of colours."""
    x = lines.astype(np.int32)
    if format_.in_pairs:
        return _of_yuv(format_, x.reshape(len(x), -1, 4), grey=grey)
    x = x.reshape(len(x), -1, format_.nbytes)
    rgb = x[..., format_.places] if format_.kind == "bytes" else _of_565(format_, x)
    if not grey:
        return rgb.astype(np.uint8)
    y = rgb[..., 0] if format_.has_luma else _rounded(rgb @ np.array(LUMA, np.int32), LUMA_BITS)
    return y[..., None].astype(np.uint8)


def encoded(format_: Format, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours uint8 (height, width, 3) -> the bytes that stand for the nearest ones, as lines.

    Two pixels that share their colour have the mean of both.
    """
    x = rgb.astype(np.int32)
    luma = _rounded(x @ np.array(LUMA, np.int32), LUMA_BITS)
    if format_.in_pairs:
        return _to_yuv(format_, rgb.astype(np.float64)).reshape(len(x), -1)
    if format_.kind == "bytes":
        made = np.empty((*x.shape[:2], format_.nbytes), np.uint8)
        made[..., format_.places] = luma[..., None] if format_.has_luma else x
        return made.reshape(len(x), -1)
    red, green, blue = (np.rint(x[..., i] * n / 255) for i, n in enumerate((31, 63, 31)))
    word = (red * 2**11 + green * 2**5 + blue).astype("<u2")
    swapped = word if format_.places[0] else word.byteswap()
    return np.ascontiguousarray(swapped).view(np.uint8).reshape(len(x), -1)


def _to_yuv(format_: Format, rgb: NDArray[np.float64]) -> NDArray[np.uint8]:
    """JFIF: luma of each pixel, differences of the mean of two."""
    first, u_at, v_at = format_.places
    y = rgb @ np.array([0.299, 0.587, 0.114])
    both = rgb.reshape(len(rgb), -1, 2, 3).mean(axis=2)
    mean = y.reshape(len(rgb), -1, 2).mean(axis=2)
    pairs = np.empty((*mean.shape, 4))
    pairs[..., [first, first + 2]] = y.reshape(len(rgb), -1, 2)
    pairs[..., u_at] = 128 + (both[..., 2] - mean) / 1.772
    pairs[..., v_at] = 128 + (both[..., 0] - mean) / 1.402
    return np.rint(pairs).clip(0, 255).astype(np.uint8)


def _of_565(format_: Format, x: NDArray[np.int32]) -> NDArray[np.int32]:
    high = format_.places[0]
    word = (x[..., high] << 8) | x[..., 1 - high]
    red, green, blue = word >> 11, (word >> 5) & 63, word & 31
    parts = [(red << 3) | (red >> 2), (green << 2) | (green >> 4), (blue << 3) | (blue >> 2)]
    return np.stack(parts, axis=-1)


def _of_yuv(format_: Format, pairs: NDArray[np.int32], *, grey: bool) -> NDArray[np.uint8]:
    """Pairs of pixels (height, pairs, 4): both have the same colour differences."""
    first, u_at, v_at = format_.places
    y = pairs[..., [first, first + 2]].reshape(len(pairs), -1)
    if grey:
        return y[..., None].astype(np.uint8)
    u, v = (np.repeat(pairs[..., at] - 128, 2, axis=1) for at in (u_at, v_at))
    more = [V_RED * v, U_GREEN * u + V_GREEN * v, U_BLUE * u]
    rgb = [_rounded((y << YUV_BITS) + part, YUV_BITS) for part in more]
    return np.stack(rgb, axis=-1).clip(0, 255).astype(np.uint8)


def _rounded(x: NDArray[np.int32], bits: int) -> NDArray[np.int32]:
    """``x / 2**bits`` to nearest, halves up."""
    return (x + (1 << (bits - 1))) >> bits
