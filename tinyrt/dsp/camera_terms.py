"""What the cost of a camera's frames grows with."""

from __future__ import annotations

import numpy as np

from tinyrt.dsp.camera import Camera
from tinyrt.dsp.transform_terms import Terms

IN_VECTORS, AT_ONCE, PIXELS = "area, rgb565 to luma", 64, 8
"""What looks so many pixels ahead where there are vectors, and pixels of one."""


def camera_terms(camera: Camera, *, has_vectors: bool) -> dict[str, Terms]:
    """Step of a frame -> what its constants are times.

    The image's step is named after what is resized. ``table`` makes its bytes a network's input,
    ``tables`` where each colour has a scale of its own.
    """
    image = _of_areas(camera) if camera.resize == "area" else _between(camera)
    step = image_step(camera)
    if has_vectors and step == IN_VECTORS:
        image = (*image, *_looked_ahead(camera))
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


def _between(camera: Camera) -> Terms:
    lines, rows, columns = camera.cropped[2], camera.rows, camera.columns
    return camera.height - lines, lines, rows, lines * columns, rows * columns


def _looked_ahead(camera: Camera) -> Terms:
    """Pieces of lines, and vectors of them."""
    _, left, lines, width = camera.cropped
    count = width + left % AT_ONCE
    return lines * -(-count // AT_ONCE), lines * -(-count // PIXELS)


def image_step(camera: Camera) -> str:
    """The name of the code that resizes: a method, kinds of pixels, and what of them is taken."""
    kind = camera.format
    makes_grey = camera.channels == 1 and not kind.has_luma
    taken = "colours" if camera.channels > 1 else "luma" if makes_grey else "grey"
    return f"{camera.resize}, {kind.kind} to {taken}"
