"""A camera at the model that sees its frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.boxes import Boxes, Found
from tinyrt.dsp.camera import Camera
from tinyrt.dsp.vision import Vision
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Graph, Value

CODES = 4
"""Encodings of an anchor."""


@dataclass(frozen=True, slots=True, eq=False)
class Sighted:
    """A camera at its model.

    Attributes:
        vision: the camera, and what follows from scores.
        input: the model's only input that is fed.
        tables: int8 (channels, 256), or (1, 256): what the input stores for a byte.
        scores: name of the output with the scores of boxes.
        encodings: of that with their encodings; None where the anchors are the boxes.

    """

    vision: Vision
    input: Value
    tables: NDArray[np.int8]
    scores: str
    encodings: str | None

    @property
    def camera(self) -> Camera:
        """What makes images of frames."""
        return self.vision.camera

    def stored(self, frame: ArrayLike) -> NDArray[np.int8]:
        """A frame -> the input as the model stores it, in the input's shape."""
        image = self.camera.image(frame)
        channels = np.arange(image.shape[-1]) % len(self.tables)
        return self.tables[channels, image].reshape(self.input.shape)

    def found(self, raw: dict[str, NDArray[Any]]) -> Found:
        """The boxes of one answer, by the outputs' names."""
        boxes = self.vision.boxes
        assert boxes is not None
        count = len(boxes.anchors)
        codes = None if self.encodings is None else raw[self.encodings].reshape(count, CODES)
        return boxes.find(raw[self.scores].reshape(count, boxes.classes), codes)


def sighted(vision: Vision, graph: Graph) -> Sighted:
    """The camera at the model.

    Raises:
        UnsupportedError: the model has another number of inputs, its input is no such image of
            int8, or its outputs are no scores and encodings of the boxes.

    """
    if len(graph.fed) != 1:
        raise UnsupportedError(
            f"the model has {len(graph.fed)} inputs",
            expected="one input, which takes the image",
            hint="call Camera.image of tinyrt.dsp yourself, and feed the other inputs",
        )
    value = graph.value(graph.fed[0])
    _check_image(value, vision.camera)
    if value.dtype is not DType.INT8 or value.q is None:
        raise UnsupportedError(
            "the input takes no bytes of an image",
            tensor=value.describe(),
            expected="int8 with a scale",
            hint="quantise the model with tinyrt quantize",
        )
    answers = [graph.value(name) for name in graph.answers]
    encodings = _check_boxes(vision.boxes, answers) if vision.boxes is not None else None
    tables = vision.tables(value.q.scale, value.q.zero_point)
    return Sighted(vision, value, tables, answers[0].name, encodings)


def _check_image(value: Value, camera: Camera) -> None:
    wanted = (camera.rows, camera.columns, camera.channels)
    sides = [[n for n in shape if n != 1] for shape in (value.shape, wanted)]
    if sides[0] != sides[1] or value.shape[:1] != (1,):
        raise UnsupportedError(
            "the input is no image of the camera's size",
            tensor=value.describe(),
            expected=f"[1, {', '.join(map(str, wanted))}]: rows, columns, channels",
            hint="give the camera the rows, columns and channels that the model was trained with",
        )


def _check_boxes(boxes: Boxes, answers: list[Value]) -> str | None:
    """The name of the output with encodings; None where there is none."""
    count = len(boxes.anchors)
    wanted = [count * boxes.classes, count * CODES][: len(answers)]
    fits = len(answers) <= len(wanted) and all(
        value.dtype is DType.INT8 and value.nbytes == size and value.shape[-1] in lasts
        for value, size, lasts in zip(answers, wanted, ((boxes.classes,), (CODES,)), strict=False)
    )
    if not fits:
        raise UnsupportedError(
            f"the outputs are no scores of {count} anchors and {boxes.classes} classes",
            tensor=answers[0].describe(),
            expected=f"int8 [..., {boxes.classes}] of {wanted[0]} scores, and where there is a "
            f"second output, int8 [..., {CODES}] of {count * CODES} encodings",
            hint="give boxes the anchors and classes that the model was trained with",
        )
    return answers[1].name if len(answers) == 2 else None
