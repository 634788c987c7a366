"""What a network sees of a problem: the samples as they are, or features by a front end.

Features are computed once for each front end and each set of samples in a process.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tinyrt.attached import Fitted, fitted, pipeline_of
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import Pipeline
from tinyrt.dsp.windows import Array, FrontEnd, features_of, learnt, raw_of, shape_behind
from tinyrt.errors import error_context
from tinyrt.interpreter.model import Model
from tinyrt.search.exits import scores_of, threshold_of
from tinyrt.search.problem import Problem
from tinyrt.train.recipes.stages import CALIBRATION_SAMPLES

SPAN = 4
"""Deviations from the mean at which features end: one that is far out would make the steps of all
others coarse."""

KEPT = 16
"""Front ends whose features are kept."""


def seen(front_end: FrontEnd | None, problem: Problem) -> tuple[Problem, Pipeline | None]:
    """The problem as a network sees it, and what makes features of raw samples.

    Scales and offsets are those of the samples to train on.

    Args:
        front_end: what makes features; None for none.
        problem: with windows of raw samples, if there is a front end.

    Raises:
        DataError: samples are no integers of 16 bits.
        ShapeError: the front end does not take such windows.

    """
    if front_end is None:
        return problem, None
    key = front_end, problem.digest
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    shape_behind(front_end, problem.input_shape)
    rows = features_of(front_end, raw_of(problem.x))
    pipeline = learnt(front_end, rows[problem.parts[0]])
    made = problem.with_x(_scaled(pipeline, rows, problem.input_shape)), pipeline
    with _lock:
        _kept[key] = made
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return made


def calibrating(front_end: FrontEnd | None, problem: Problem) -> tuple[Array, Pipeline | None]:
    """Samples to calibrate an untrained network with, as it sees them, and their front end.

    Raises:
        DataError: as ``seen``.
        ShapeError: likewise.

    """
    x = problem.x[problem.parts[0][:CALIBRATION_SAMPLES]]
    if front_end is None:
        return x, None
    shape_behind(front_end, problem.input_shape)
    rows = features_of(front_end, raw_of(x))
    pipeline = learnt(front_end, rows)
    return _scaled(pipeline, rows, problem.input_shape), pipeline


def recording_of(x: Array) -> NDArray[np.int16]:
    """Windows of raw samples, one behind the other."""
    return raw_of(np.concatenate(x))


def wanted(pipeline: Pipeline | None, problem: Problem) -> Array:
    """What a model should answer: the labels, or the features that an autoencoder gives back."""
    if pipeline is None or problem.y is not problem.x:
        return problem.y
    rows = features_of(pipeline.front, raw_of(problem.x))
    return _scaled(pipeline, rows, problem.input_shape)


def answers_of(model: Path, x: Array) -> Array:
    """Real values of the first output of a model's file to raw samples, each from a new beginning.

    Of a model with an early exit, the integers of the head that answers.

    With a front end, features become the input's integers as on a device.
    """
    if threshold_of(model) is not None:
        return scores_of(model, x)
    graph, pipeline = read_tflite(model), pipeline_of(model)
    runner = Model(graph, file=str(model))
    with error_context(file=str(model)):
        fit = None if pipeline is None else fitted(pipeline, graph)
    feeds = runner.named(x) if fit is None else {fit.input.name: _stored(fit, x)}
    raw = runner.run(feeds) if fit is None else runner.run_raw(feeds)
    name = graph.answers[0]
    return np.asarray(raw[name] if fit is None else runner.real(name, raw[name]))


def _stored(fit: Fitted, x: Array) -> Array:
    """The input's integers, (n, ...)."""
    rows = features_of(fit.pipeline.front, raw_of(x))
    stored = fit.stored_windows(rows)
    shaped: Array = np.ascontiguousarray(stored.reshape(len(x), *fit.input.shape[1:]))
    return shaped


def _scaled(pipeline: Pipeline, rows: Array, window: tuple[int, ...]) -> Array:
    shape = shape_behind(pipeline.front, window)
    x = (rows - np.array(pipeline.offset, np.float64)) * np.array(pipeline.scale)
    clipped: Array = x.clip(-SPAN, SPAN).astype(np.float32)
    return clipped.reshape(len(rows), *shape)


_kept: OrderedDict[tuple[FrontEnd, str], tuple[Problem, Pipeline]] = OrderedDict()
_lock = Lock()
