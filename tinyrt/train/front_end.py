"""A front end as the first layer of a network that is trained: raw samples in, its features out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp import Pipeline
from tinyrt.dsp.windows import LIMITS, FrontEnd, features_of, learnt, shape_behind
from tinyrt.errors import GradientError, UnsupportedError
from tinyrt.ir import Shape
from tinyrt.train.core.function import Array, Function, Gradient
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, apply


class FrontEndLayer(Module):
    """Windows of raw samples to what a network sees of them, in the integers of the device.

    The layer has no parameters. What changes samples, as ``fit(augment=...)`` does, comes before
    it, so that the network is trained on features of what a microphone would hear. Samples are
    rounded and end at 16 bits, as a converter has it. Each window is one from a new beginning.

    A graph does not hold it: trace the network behind it, and attach ``pipeline`` to its file.

    Args:
        pipeline: the front end, and what the network takes of a feature.

    Attributes:
        pipeline: the same.

    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @classmethod
    def learnt(cls, front_end: FrontEnd, samples: Array) -> FrontEndLayer:
        """A layer whose features have a mean of 0 and a deviation of 1.

        Args:
            front_end: what makes features.
            samples: those to train on, (n, samples) of sound or (n, samples, axes) of motion.

        Raises:
            ShapeError: windows are of other axes, or too short for a row.

        """
        shape_behind(front_end, samples.shape[1:])
        return cls(learnt(front_end, features_of(front_end, _as_converted(samples))))

    def shape(self, window: Shape) -> Shape:
        """What the network sees of a window: its shape without the batch.

        Raises:
            ShapeError: windows are of other axes, or too short for a row.

        """
        return shape_behind(self.pipeline.front, window)

    def forward(self, x: Tensor) -> Tensor:
        """Samples (n, samples), or (n, samples, axes) -> float32 (n, *shape).

        Raises:
            ShapeError: as ``shape``.

        """
        return apply(FEATURES, self.pipeline, x)


def _as_converted(samples: Array) -> NDArray[np.int16]:
    """Real values to whole numbers of 16 bits."""
    return np.rint(samples).clip(LIMITS.min, LIMITS.max).astype(np.int16)


def _features(pipeline: Pipeline, x: Array) -> Array:
    shape = shape_behind(pipeline.front, x.shape[1:])
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
