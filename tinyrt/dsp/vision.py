"""What stands before and behind a network that sees, as one value, which a model's file carries.

Frames of a camera become the network's input, and its scores become boxes, where there are some.
It lies in the same entry of a .tflite file's metadata as what makes features of sound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp.boxes import Boxes
from tinyrt.dsp.camera import Camera
from tinyrt.dsp.checks import known, require, require_real
from tinyrt.dsp.options import VERSION, as_json, options_of, require_version
from tinyrt.dsp.pipeline import Pipeline
from tinyrt.ops.quantize import quantize_array

BYTES = 256


@dataclass(frozen=True, slots=True)
class Vision:
    """From frames to what is seen.

    The network takes ``scale * (byte - mean)`` of each byte of the image, row after row: one scale
    and one mean, or one for each colour.

    Attributes:
        camera: frames to bytes of an image.
        scale: real value of one step of a byte.
        mean: the byte that stands for 0.0; any real number.
        boxes: scores of the first output, and encodings of a second one where there is one, to
            boxes; None without.

    """

    camera: Camera
    scale: float | tuple[float, ...] = 1 / 255
    mean: float | tuple[float, ...] = 0.0
    boxes: Boxes | None = None

    def __post_init__(self) -> None:
        for scale in self.scales:
            require_real(scale, 2.0**-40, 2.0**20, "scale")
        for mean in self.means:
            require_real(mean, -(2.0**20), 2.0**20, "mean")

    def _each(self, name: str) -> tuple[float, ...]:
        """An option for each channel."""
        value, channels = getattr(self, name), self.camera.channels
        if not isinstance(value, tuple):
            return (value,) * channels
        require(len(value) == channels, name, value, f"one number, or {channels}: one each channel")
        return value

    @property
    def scales(self) -> tuple[float, ...]:
        """The scale of each channel."""
        return self._each("scale")

    @property
    def means(self) -> tuple[float, ...]:
        """The mean of each channel."""
        return self._each("mean")

    @property
    def is_each(self) -> bool:
        """Whether channels differ in their scale or mean."""
        return len({*zip(self.scales, self.means, strict=True)}) > 1

    def real(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Bytes (..., channels) -> what they stand for."""
        scale, mean = (np.array(each, np.float64) for each in (self.scales, self.means))
        return np.asarray(scale * (image - mean), np.float32)

    def tables(self, step: float, zero_point: int) -> NDArray[np.int8]:
        """What the network's input stores for each byte: int8 (channels, 256), or (1, 256) for all.

        Args:
            step: scale of the network's input.
            zero_point: of the network's input.

        """
        values = np.repeat(np.arange(BYTES, dtype=np.uint8)[:, None], self.camera.channels, axis=1)
        stored = quantize_array(self.real(values), np.float32(step), zero_point)
        tables = np.ascontiguousarray(stored.T)
        return tables if self.is_each else tables[:1]

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return {
            "version": VERSION,
            "camera": self.camera.as_dict(),
            "scale": list(self.scale) if isinstance(self.scale, tuple) else self.scale,
            "mean": list(self.mean) if isinstance(self.mean, tuple) else self.mean,
            "boxes": None if self.boxes is None else self.boxes.as_dict(),
        }

    def to_json(self) -> bytes:
        """The entry's bytes."""
        return as_json(self.as_dict())

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Vision:
        """The value of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is missing, unknown or out of range, or of another version.

        """
        made = require_version(options)
        known(cls, made)
        camera, boxes = made.get("camera"), made.get("boxes")
        require(isinstance(camera, Mapping), "camera", camera, "options by name")
        made["camera"] = Camera.from_dict(made["camera"])
        for name in ("scale", "mean"):
            if isinstance(made.get(name), list):
                made[name] = tuple(made[name])
        if boxes is not None:
            require(isinstance(boxes, Mapping), "boxes", boxes, "options by name, or null")
            made["boxes"] = Boxes.from_dict(boxes)
        return cls(**made)


def front_end_from_dict(options: Mapping[str, Any]) -> Pipeline | Vision:
    """What such options describe: a camera's frames, or samples of sound or motion.

    Raises:
        DataError: as ``Vision.from_dict`` and ``Pipeline.from_dict``.

    """
    return Vision.from_dict(options) if "camera" in options else Pipeline.from_dict(options)


def front_end_from_json(data: bytes) -> Pipeline | Vision:
    """What an entry of a file's metadata describes.

    Raises:
        DataError: it is no JSON, too long, or says what cannot be.

    """
    return front_end_from_dict(options_of(data))
