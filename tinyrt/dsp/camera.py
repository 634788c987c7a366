"""A camera's frames as a value: from a sensor's bytes to the rows that a network takes.

Pixels become bytes, of which a crop is resized; both are integers. Of a line's weighted sum no
step overflows: bilinear ones take 16 bits across and 27 down, those of areas at most 255 for each
of ``2**24`` pixels, which is 32 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.checks import known, require, require_int
from tinyrt.dsp.pixels import FORMATS, Format, decoded, encoded
from tinyrt.dsp.resizing import METHODS, Steps, resized
from tinyrt.errors import DataError

MAX_SIDE, MAX_OUTPUT = 1 << 12, 1 << 10
CROP = ("top", "left", "height", "width")


@dataclass(frozen=True, slots=True)
class Camera:
    """What a sensor delivers, and what of it a network sees. Sides are in pixels.

    Attributes:
        height: lines of a frame.
        width: pixels of a line.
        rows: of the image that the network sees.
        columns: likewise.
        pixels: a name in ``FORMATS``: how the sensor stores a pixel.
        channels: 1 for grey, 3 for red, green and blue.
        crop: top, left, height and width of what is resized; None for all of the frame.
        resize: ``area``, the mean of what a pixel of the image covers, or ``bilinear``, between
            the four pixels around its middle.

    """

    height: int
    width: int
    rows: int
    columns: int
    pixels: str = "rgb565"
    channels: int = 1
    crop: tuple[int, int, int, int] | None = None
    resize: str = "area"

    def __post_init__(self) -> None:
        require_int(self.height, 2, MAX_SIDE, "height")
        require_int(self.width, 2, MAX_SIDE, "width")
        require_int(self.rows, 1, MAX_OUTPUT, "rows")
        require_int(self.columns, 1, MAX_OUTPUT, "columns")
        require(self.pixels in FORMATS, "pixels", self.pixels, " ".join(FORMATS))
        pairs = "even: two pixels share their colour"
        require(not self.format.in_pairs or self.width % 2 == 0, "width", self.width, pairs)
        require(self.channels in (1, 3), "channels", self.channels, "1 (grey) or 3 (colours)")
        self._check_crop()
        require(self.resize in METHODS, "resize", self.resize, " ".join(METHODS))
        if self.resize == "area":
            _, _, height, width = self.cropped
            for name, side in (("rows", height), ("columns", width)):
                expected = f"at most {side}, as the crop has; bilinear enlarges"
                require(getattr(self, name) <= side, name, getattr(self, name), expected)

    def _check_crop(self) -> None:
        if self.crop is None:
            return
        require(len(self.crop) == len(CROP), "crop", self.crop, ", ".join(CROP))
        top, left, height, width = self.crop
        require_int(height, 2, self.height, "crop's height")
        require_int(width, 2, self.width, "crop's width")
        require_int(top, 0, self.height - height, "crop's top")
        require_int(left, 0, self.width - width, "crop's left")

    @property
    def format(self) -> Format:
        """How the sensor stores a pixel."""
        return FORMATS[self.pixels]

    @property
    def cropped(self) -> tuple[int, int, int, int]:
        """Top, left, height and width of what is resized."""
        return (0, 0, self.height, self.width) if self.crop is None else self.crop

    @property
    def line_bytes(self) -> int:
        """Bytes of a line of the frame."""
        return self.width * self.format.nbytes

    @property
    def row_size(self) -> int:
        """Numbers of a row of the image."""
        return self.columns * self.channels

    @property
    def down(self) -> Steps:
        """Which lines of the crop make each row."""
        return Steps.of(self.resize, self.cropped[2], self.rows)

    @property
    def across(self) -> Steps:
        """Which pixels of a line make each column."""
        return Steps.of(self.resize, self.cropped[3], self.columns)

    def lines_of(self, frame: ArrayLike) -> NDArray[np.uint8]:
        """A frame as bytes, uint8 (height, line_bytes).

        Args:
            frame: uint8 or uint16 of any shape whose first side is the height: bytes as the sensor
                sends them, or its 16-bit pixels as numbers.

        Raises:
            DataError: it has another type, or another number of lines or of bytes in a line.

        """
        x = np.asarray(frame)
        taken = np.dtype("<u2") if x.dtype == np.uint16 else np.dtype(np.uint8)
        nbytes = x.size * taken.itemsize
        right = x.dtype in (np.uint8, np.uint16) and x.shape[:1] == (self.height,)
        if not right or nbytes != self.height * self.line_bytes:
            raise DataError(
                f"the frame is {x.dtype} of the shape {list(x.shape)}",
                expected=f"{self.height} lines of {self.line_bytes} bytes each, uint8 or uint16: "
                f"{self.width} pixels of {self.pixels}",
                hint="give the bytes as the sensor sends them, or the camera its size and pixels",
            )
        return np.ascontiguousarray(x, taken).view(np.uint8).reshape(self.height, -1)

    def frame_of(self, colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A picture as this camera would send it: uint8 (height, width, 3) -> as ``lines_of``.

        Raises:
            DataError: it is of another size.

        """
        if colours.shape != (self.height, self.width, 3):
            height, width, *_ = colours.shape
            raise DataError(
                f"the picture has {width} x {height} pixels",
                expected=f"{self.width} x {self.height}, as the camera's frames have",
                hint=f"resize it: magick FILE -resize {self.width}x{self.height}! OUT.png",
            )
        return encoded(self.format, colours)

    def decoded(self, frame: ArrayLike) -> NDArray[np.uint8]:
        """The crop of a frame, uint8 (height, width, channels); ``frame`` as for ``lines_of``."""
        top, left, height, width = self.cropped
        whole = decoded(self.format, self.lines_of(frame), grey=self.channels == 1)
        return whole[top : top + height, left : left + width]

    def image(self, frame: ArrayLike) -> NDArray[np.uint8]:
        """What the network sees of a frame: uint8 (rows, columns, channels).

        This is the specification of ``tinyrt_camera_<resize>_<kind>``, which compute the same.

        Args:
            frame: as for ``lines_of``.

        Raises:
            DataError: as ``lines_of``.

        """
        return resized(self.resize, self.decoded(frame), self.down, self.across)

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return asdict(self) | {"crop": None if self.crop is None else list(self.crop)}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Camera:
        """The camera of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is missing, unknown or out of range.

        """
        made = dict(known(cls, options))
        for name in ("height", "width", "rows", "columns"):
            require(name in made, name, None, "a number of pixels: it has no default")
        crop = made.get("crop")
        if crop is not None:
            require(isinstance(crop, list | tuple), "crop", crop, ", ".join(CROP))
            made["crop"] = tuple(crop)
        return cls(**made)
