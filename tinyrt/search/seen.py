"""What a network sees of a problem: the samples as they are, features by a front end, or images.

Features are computed once for each front end and each set of samples in a process; so are the
answers of a teacher who does not know them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.attached import front_end_of
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import Pipeline, Vision
from tinyrt.dsp.windows import Array, FrontEnd, features_of, learnt, raw_of, shape_behind
from tinyrt.search.answers import answered
from tinyrt.search.exits import probabilities_of, threshold_of
from tinyrt.search.problem import Problem
from tinyrt.train.recipes.stages import CALIBRATION_SAMPLES

SPAN = 4
"""Deviations from the mean at which features end: one that is far out would make the steps of all
others coarse."""

KEPT = 16
"""Front ends whose features are kept."""

Made = TypeVar("Made")


def seen(front_end: FrontEnd | None, problem: Problem) -> tuple[Problem, Pipeline | Vision | None]:
    """The problem as a network sees it, and what makes features or images of raw samples.

    Scales and offsets are those of the samples to train on.

    Args:
        front_end: what makes features or images; None for none.
        problem: with windows of raw samples or with frames, if there is a front end.

    Raises:
        DataError: samples are no integers of 16 bits, or no frames of the camera's.
        ShapeError: the front end does not take such windows.

    """
    teacher = problem.teacher
    if front_end is None and (teacher is None or teacher.front_end is None):
        return problem, None

    def made() -> tuple[Problem, Pipeline | Vision | None]:
        told = None if teacher is None else _told(problem)
        if front_end is None:
            return replace(problem, teacher=None, told=told), None
        x = _raw(front_end, problem.x, problem)
        rows = features_of(front_end, x)
        pipeline = learnt(front_end, rows[problem.parts[0]])
        return problem.with_x(_scaled(pipeline, rows, problem.input_shape), told), pipeline

    return _kept.get((front_end, problem.digest), made)


def _told(problem: Problem) -> Array:
    """Logits of the problem's teacher to all samples, whichever of them choose."""
    teacher = problem.teacher
    assert teacher is not None, "who is asked"
    return _answers.get(replace(problem, fold=0).digest, lambda: teacher.logits(problem.x))


def _raw(front_end: FrontEnd, x: Array, problem: Problem) -> Array:
    """Samples as a front end takes them; raises as ``seen``."""
    problem.behind(front_end)
    return x if problem.pixels is not None else raw_of(x)


def calibrating(
    front_end: FrontEnd | None, problem: Problem
) -> tuple[Array, Pipeline | Vision | None]:
    """Samples to calibrate an untrained network with, as it sees them, and their front end.

    Raises:
        DataError: as ``seen``.
        ShapeError: likewise.

    """
    x = problem.x[problem.parts[0][:CALIBRATION_SAMPLES]]
    if front_end is None:
        return x, None
    rows = features_of(front_end, _raw(front_end, x, problem))
    pipeline = learnt(front_end, rows)
    return _scaled(pipeline, rows, problem.input_shape), pipeline


def recording_of(x: Array, problem: Problem) -> NDArray[np.int16] | NDArray[np.uint8]:
    """Windows of raw samples, one behind the other; frames as they are."""
    return x if problem.pixels is not None else raw_of(np.concatenate(x))


def wanted(pipeline: Pipeline | Vision | None, problem: Problem) -> Array:
    """What a model should answer: the labels, or the features that an autoencoder gives back."""
    if pipeline is None or problem.y is not problem.x:
        return problem.y
    front = front_of(pipeline)
    rows = features_of(front, _raw(front, problem.x, problem))
    return _scaled(pipeline, rows, problem.input_shape)


def front_of(carried: Pipeline | Vision) -> FrontEnd:
    """What makes features, or images."""
    return carried.camera if isinstance(carried, Vision) else carried.front


def answers_of(model: Path, x: Array) -> Array:
    """Real values of the first output of a model's file to raw samples, each from a new beginning.

    Of a model with an early exit, probabilities by the head that answers.

    With a front end, features become the input's integers as on a device.
    """
    if threshold_of(model) is not None:
        return probabilities_of(model, x)
    return answered(read_tflite(model), front_end_of(model), x, str(model))


def _scaled(carried: Pipeline | Vision, rows: Array, window: tuple[int, ...]) -> Array:
    if isinstance(carried, Vision):
        return carried.real(rows)
    shape = shape_behind(carried.front, window)
    x = (rows - np.array(carried.offset, np.float64)) * np.array(carried.scale)
    clipped: Array = x.clip(-SPAN, SPAN).astype(np.float32)
    return clipped.reshape(len(rows), *shape)


class _Kept(Generic[Made]):
    """What was made last, by its key."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._made: OrderedDict[Hashable, Made] = OrderedDict()

    def __len__(self) -> int:
        return len(self._made)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What belongs to the key; made now if it is not there."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = make()
        with self._lock:
            self._made[key] = made
            while len(self._made) > self._most:
                self._made.popitem(last=False)
        return made


_kept: _Kept[tuple[Problem, Pipeline | Vision | None]] = _Kept(KEPT)
_answers: _Kept[Array] = _Kept(1)
