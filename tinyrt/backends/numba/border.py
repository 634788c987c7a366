"""Copies of activations as unsigned bytes, inside the border that a window reaches into."""

from __future__ import annotations

from tinyrt.backends.numba.abi import s8_at, subroutine, u8_at
from tinyrt.backends.numba.rows import Border, Images


@subroutine
def flip(x: int, y: int, count: int) -> None:
    """``y = x + 128`` as unsigned bytes."""
    source, target = u8_at(x), u8_at(y)
    for i in range(count):
        target[i] = source[i] ^ 128


@subroutine
def fill(y: int, count: int, value: int) -> None:
    """Fill the bytes with one value."""
    target = u8_at(y)
    for i in range(count):
        target[i] = value


@subroutine
def pad_flip(x: int, images: Images, copies: int, y: int, border: Border) -> None:
    """Copy one image, plus 128, into its border; each channel is repeated ``copies`` times.

    ``y`` has the border's height and width, and channels * copies.
    """
    height, width, channels = images.height, images.width, images.channels
    top, left, value = border.top, border.left, border.fill
    pixel = channels * copies
    row = border.width * pixel
    inner = width * pixel
    # What lies right of a row and left of the next one is filled at once.
    at = y + top * row + left * pixel
    fill(y, at - y, value)
    for i in range(height):
        if copies == 1:
            flip(x + i * inner, at, inner)
        else:
            _flip_copies(x + i * width * channels, at, width * channels, copies)
        if i < height - 1:
            fill(at + inner, row - inner, value)
        at += row
    end = y + border.height * row
    fill(at - row + inner, end - (at - row + inner), value)


@subroutine
def _flip_copies(x: int, y: int, count: int, copies: int) -> None:
    source, target = s8_at(x), u8_at(y)
    for i in range(count):
        for j in range(copies):
            target[i * copies + j] = source[i] ^ -128
