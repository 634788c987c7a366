"""What the cost of a camera's frames grows with."""

from __future__ import annotations

import numpy as np

from tinyrt.dsp.camera import Camera
from tinyrt.dsp.transform_terms import Terms


def camera_terms(camera: Camera) -> dict[str, Terms]:
    """Step of a frame -> what its constants are times.

    The image's step is named after what is resized; ``table`` makes its bytes a network's input.
    """
    lines, rows, columns = camera.cropped[2], camera.rows, camera.columns
    beside = camera.height - lines
    if camera.resize == "area":
        # A pixel that ends a column in its midst is looked at once, for both.
        is_shared = camera.across.part > 0
        shared = int(np.count_nonzero(is_shared))
        whole = np.diff(camera.across.first.astype(int)) - is_shared[:-1]
        image: Terms = (
            *(beside, lines, rows, lines * columns, lines * int(np.count_nonzero(whole > 0))),
            *(lines * int(whole.sum()), lines * shared, rows * columns),
        )
    else:
        image = (beside, lines, rows, lines * columns, rows * columns)
    return {image_step(camera): image, "table": (rows, rows * camera.row_size)}


def image_step(camera: Camera) -> str:
    """The name of the code that resizes: a method, kinds of pixels, and what of them is taken."""
    kind = camera.format
    makes_grey = camera.channels == 1 and not kind.has_luma
    taken = "colours" if camera.channels > 1 else "luma" if makes_grey else "grey"
    return f"{camera.resize}, {kind.kind} to {taken}"
