"""A front end as the first layer of a network that is trained: raw samples in, its features out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp import Camera, Pipeline, Vision
from tinyrt.dsp.windows import LIMITS, FrontEnd, features_of, learnt, shape_behind
from tinyrt.errors import GradientError, ShapeError, UnsupportedError
from tinyrt.ir import Shape
from tinyrt.train.core.function import Array, Function, Gradient
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, apply


class FrontEndLayer(Module):
    """Windows of raw samples, or pictures, to what a network sees of them, as on the device.

    The layer has no parameters. What changes samples, as ``fit(augment=...)`` does, comes before
    it, so that the network is trained on features of what a microphone would hear. Samples are
    rounded and end at 16 bits, as a converter has it. Each window is one from a new beginning.
    Pictures have red, green and blue from 0 to 255 and the size of the camera's frames; they become
    what the camera would send of them, and then the image that the network takes.

    A graph does not hold it: trace the network behind it, and attach ``pipeline`` to its file.

    Args:
        pipeline: the front end, and what the network takes of a feature or of a byte.

    Attributes:
        pipeline: the same.

    """

    def __init__(self, pipeline: Pipeline | Vision) -> None:
        self.pipeline = pipeline

    @classmethod
    def learnt(cls, front_end: FrontEnd, samples: Array) -> FrontEndLayer:
        """A layer whose features have a mean of 0 and a deviation of 1.

        Args:
            front_end: what makes features, or images.
            samples: those to train on, (n, samples) of sound or (n, samples, axes) of motion;
                pictures for a camera.

        Raises:
            ShapeError: as ``shape``.

        """
        if isinstance(front_end, Camera):
            return cls(learnt(front_end, _images(front_end, samples)))
        shape_behind(front_end, samples.shape[1:])
        return cls(learnt(front_end, features_of(front_end, _as_converted(samples))))

    def shape(self, window: Shape) -> Shape:
        """What the network sees of a window or a picture: its shape without the batch.

        Raises:
            ShapeError: windows are of other axes, or too short for a row; pictures are of another
                size than the camera's frames.

        """
        return _shape_behind(self.pipeline, window)

    def forward(self, x: Tensor) -> Tensor:
        """Samples (n, samples) or (n, samples, axes), or pictures -> float32 (n, *shape).

        Raises:
            ShapeError: as ``shape``.

        """
        return apply(FEATURES, self.pipeline, x)


def _as_converted(samples: Array) -> NDArray[np.int16]:
    """Real values to whole numbers of 16 bits."""
    return np.rint(samples).clip(LIMITS.min, LIMITS.max).astype(np.int16)


def _shape_behind(pipeline: Pipeline | Vision, window: Shape) -> Shape:
    if isinstance(pipeline, Pipeline):
        return shape_behind(pipeline.front, window)
    camera = pipeline.camera
    _require_pictures(camera, window)
    return camera.rows, camera.columns, camera.channels


def _require_pictures(camera: Camera, window: Shape) -> None:
    frames = (camera.height, camera.width, 3)
    if window != frames:
        raise ShapeError(
            f"pictures are {list(window)}",
            expected=f"{list(frames)}: red, green and blue, in the size of the camera's frames",
        )


def _images(camera: Camera, x: Array) -> NDArray[np.uint8]:
    """Pictures (n, height, width, 3) -> what the network sees of them; raises ``ShapeError``."""
    _require_pictures(camera, x.shape[1:])
    pictures = np.rint(x).clip(0, 255).astype(np.uint8)
    return np.stack([camera.image(camera.frame_of(picture)) for picture in pictures])


def _features(pipeline: Pipeline | Vision, x: Array) -> Array:
    if isinstance(pipeline, Vision):
        return pipeline.real(_images(pipeline.camera, x))
    shape = _shape_behind(pipeline, x.shape[1:])
    rows = features_of(pipeline.front, _as_converted(x))
    return pipeline.real(pipeline.normal(rows)).reshape(len(x), *shape)


def _gradient(attrs: Any, inputs: Any, output: Any, grad: Any) -> tuple[Gradient, ...]:
    raise GradientError(
        "features are whole numbers and have no gradient to the samples",
        op="front_end",
        expected="samples that nothing trained stands before",
        hint="change samples with fit(augment=...), or detach them",
    )


def _deployed(attrs: Any) -> None:
    raise UnsupportedError(
        "a front end is no op of a graph: it takes the samples as they come",
        op="front_end",
        expected="the network behind it",
        hint="trace that one by itself, with the layer's shape(window), and attach the layer's "
        "pipeline to its file: api.attach_front_end",
    )


FEATURES = Function("front_end", _features, _gradient, deployed=_deployed)
