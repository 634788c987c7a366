"""Folders of images: decoded and resized by Pillow, which is imported here alone."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.datasets.dataset import Dataset, files_by_class, stacked
from tinyrt.errors import DataError, ToolError

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
"""Pillow's names of what has at most 8 bits a channel."""
COPIES = 12
"""Bytes of memory for each pixel of a file: in its own colours, in red, green and blue, turned."""
MOST_SIDE = 4096
"""Pixels along one side of a sample."""


def load_images(
    folder: str | Path,
    *,
    size: tuple[int, int],
    grey: bool = False,
    value_range: tuple[float, float] = (0.0, 1.0),
    crop: bool = True,
) -> Dataset:
    """Images, whose folders are their classes.

    Each is turned as its camera held it (EXIF), its transparency is laid on black, and it is
    resized by Pillow's bilinear filter, which averages where it shrinks.

    Args:
        folder: one folder of images for each class, or images without classes.
        size: height and width of the samples, in pixels.
        grey: one channel, by the luma of ITU-R 601, instead of red, green and blue.
        value_range: what black and full brightness become.
        crop: the middle, in the samples' proportions; if not, the whole, stretched to them.

    Returns:
        ``x`` of shape (n, height, width, 1 or 3).

    Raises:
        DataError: there are no images, one cannot be decoded, or a size or range is none.
        ToolError: Pillow is not installed.
        BudgetError: there is no room for all.

    """
    height, width = size
    if not (1 <= height <= MOST_SIDE and 1 <= width <= MOST_SIDE):
        raise DataError(
            f"images of {height} x {width} pixels", expected=f"sides of 1 to {MOST_SIDE:,} pixels"
        )
    low, high = value_range
    if not low < high or not np.isfinite([low, high]).all():
        raise DataError(
            f"brightness from {low:g} to {high:g}",
            expected="two finite numbers, the lower one first: 0 and 1, -1 and 1, 0 and 255",
        )
    pillow()
    found = files_by_class(folder, ENDINGS, "images")
    shape = (height, width, 1 if grey else 3)

    def read(file: Path) -> NDArray[np.float32]:
        pixels = decoded(file, size, grey=grey, crop=crop).reshape(shape)
        return (pixels / np.float32(255) * (high - low) + low).astype(np.float32)

    x = stacked(found.files, shape, read)
    y = np.array(found.labels, np.int64) if found.classes else None
    return Dataset(x, y, found.classes, found.left_out)


def decoded(file: Path, size: tuple[int, int], *, grey: bool, crop: bool) -> NDArray[np.uint8]:
    """The pixels of an image file as (height, width) or (height, width, 3).

    Raises:
        DataError: it is damaged, of an unknown kind, or would fill memory.

    """
    image_module, ops = pillow()
    image = _opened(file, "L" if grey else "RGB")
    height, width = size
    bilinear = image_module.Resampling.BILINEAR
    if crop:
        image = ops.fit(image, (width, height), method=bilinear)
    else:
        image = image.resize((width, height), bilinear)
    return np.asarray(image, np.uint8)


def colours_of(file: Path) -> NDArray[np.uint8]:
    """The pixels of an image file in its own size, (height, width, 3).

    Raises:
        DataError: as ``decoded``.
        ToolError: Pillow is not installed.

    """
    return np.asarray(_opened(file, "RGB"), np.uint8)


def _opened(file: Path, mode: str) -> Any:
    """An image of Pillow, turned as its camera held it and laid on black; raises as ``decoded``."""
    image_module, ops = pillow()
    try:
        with warnings.catch_warnings():
            # Of more pixels than a bomb may have, Pillow warns at first.
            warnings.simplefilter("error", image_module.DecompressionBombWarning)
            with image_module.open(file) as opened:
                if opened.mode not in MODES:
                    raise DataError(
                        f"the image is of Pillow's mode {opened.mode}",
                        file=str(file),
                        expected="8 bits a channel",
                        hint="save it so: whoever took it knows what its black and its white are",
                    )
                pixels = opened.width * opened.height
                current().reserve(COPIES * pixels, f"the image '{file.name}'")
                image = ops.exif_transpose(opened)
                if image.has_transparency_data:
                    colours = image.convert("RGBA")
                    image = image_module.new("RGBA", image.size, (0, 0, 0, 255))
                    image.alpha_composite(colours)
                return image.convert(mode)
    except DataError:  # which is a ValueError, too
        raise
    except (OSError, SyntaxError, ValueError, image_module.DecompressionBombError) as error:
        raise DataError(
            f"the image cannot be decoded: {error}",
            file=str(file),
            hint="remove the file, or save it anew",
        ) from error
    except image_module.DecompressionBombWarning as error:
        raise DataError(
            "the image has more pixels than is safe to decode",
            file=str(file),
            expected=f"at most {image_module.MAX_IMAGE_PIXELS:,}",
        ) from error


def pillow() -> tuple[Any, Any]:
    """The modules of Pillow that are needed.

    Raises:
        ToolError: it is not installed.

    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ToolError(
            "images are decoded by Pillow, which is not installed",
            hint="pip install 'tinyrt[datasets]'",
        ) from error
    return Image, ImageOps
