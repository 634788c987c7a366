"""What the cost of a camera's frames grows with."""

from __future__ import annotations

import numpy as np

from tinyrt.dsp.camera import Camera
from tinyrt.dsp.transform_terms import Terms

AHEAD = (
    "area, bytes to luma",
    "area, rgb565 to luma",
    "area, rgb565 to colours",
    "area, yuv422 to colours",
)
"""Areas that look ahead at pixels where there are vectors; all that is bilinear is in vectors."""

AT_ONCE, PIXELS = 64, 8
"""Pixels that areas look at ahead where there are vectors, and those of a vector."""


def camera_terms(camera: Camera, *, has_vectors: bool) -> dict[str, Terms]:
    """Step of a frame -> what its constants are times.

    The image's step is named after what is resized. ``table`` makes its bytes a network's input,
    ``tables`` where each colour has a scale of its own.
    """
    step = image_step(camera)
    if camera.resize == "area":
        image = _ahead(camera) if has_vectors and step in AHEAD else _of_areas(camera)
    else:
        image = _between(camera, PIXELS if has_vectors else 1)
    table = "table" if camera.channels == 1 else "tables"
    rows, size = camera.rows, camera.row_size
    # A compiler takes several at once where a row is a whole number of them.
    return {step: image, table: (rows, rows * size, rows * size * (size % 8 == 0))}


def _of_areas(camera: Camera) -> Terms:
    # A pixel that ends a column in its midst is looked at once, for both.
    is_shared = camera.across.part > 0
    shared = int(np.count_nonzero(is_shared))
    whole = np.diff(camera.across.first.astype(int)) - is_shared[:-1]
    lines, rows, columns = camera.cropped[2], camera.rows, camera.columns
    return (
        *(camera.height - lines, lines, rows, lines * columns),
        *(lines * int(np.count_nonzero(whole > 0)), lines * int(whole.sum()), lines * shared),
        rows * columns,
    )


def _between(camera: Camera, at_once: int) -> Terms:
    lines, rows = camera.cropped[2], camera.rows
    across, down = -(-camera.columns // at_once), -(-camera.row_size // at_once)
    return camera.height - lines, lines, rows, lines * across, rows * down


def _ahead(camera: Camera) -> Terms:
    """Of areas in vectors, whose columns are differences of sums."""
    _, _, lines, width = camera.cropped
    rows, columns = camera.rows, camera.columns
    # A piece more where the last column ends with one.
    pieces = width // AT_ONCE + 1
    return (
        *(camera.height - lines, lines, rows, lines * columns),
        *(lines * int(np.count_nonzero(camera.across.part)), rows * columns),
        *(lines * pieces, lines * -(-width // PIXELS)),
    )


def image_step(camera: Camera) -> str:
    """The name of the code that resizes: a method, kinds of pixels, and what of them is taken."""
    kind = camera.format
    makes_grey = camera.channels == 1 and not kind.has_luma
    taken = "colours" if camera.channels > 1 else "luma" if makes_grey else "grey"
    return f"{camera.resize}, {kind.kind} to {taken}"
