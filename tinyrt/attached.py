"""The front end that a model's file carries, and how it fits the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyrt.convert.tflite.metadata import entry_of
from tinyrt.convert.tflite.reader import map_file
from tinyrt.dsp.anomaly import MAX_SIZE, Anomaly, AnomalyNumbers, numbers_of
from tinyrt.dsp.pipeline import ENTRY, Pipeline
from tinyrt.dsp.vision import Vision, front_end_from_json
from tinyrt.errors import DataError, ModelFormatError, UnsupportedError, error_context
from tinyrt.ir import DType, Graph, Value
from tinyrt.ops.quantize import Rescale, quantize_s16
from tinyrt.ops.shared.requant import multiplier
from tinyrt.sighted import Sighted, sighted

Array = NDArray[Any]

RAISED_BITS = 14
"""How far features are shifted left before they are rescaled: they have 16 bits and a sign, and
what is rounded to fewer bits first is then half a step of the input away at most, and hardly more.
"""

MAX_RATIO = 2.0**13
"""Exclusive limit of the input's steps for each step of a feature."""

MAX_NORMALIZED = 1 << 20
"""Features of a window with a mean of its own."""

TAKEN = (DType.INT8, DType.INT16, DType.FLOAT32)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A front end at its model.

    Attributes:
        pipeline: the front end.
        input: the model's only input that is fed.
        rows: rows of features that the input holds.
        stride: rows from one inference to the next.
        rescales: from features less the offset, shifted left by ``RAISED_BITS``, to the input's
            integers: one for all features, or one for each of a row; none for float32.
        anomaly: the integers of its alarm; None without.

    """

    pipeline: Pipeline
    input: Value
    rows: int
    stride: int
    rescales: tuple[Rescale, ...]
    anomaly: AnomalyNumbers | None = None

    @property
    def row(self) -> int:
        """Features of a row."""
        return self.pipeline.row

    def windows(self, rows: Array, count: int) -> Array:
        """All rows (n, features of a row) -> windows (count, rows, features of a row) as stored.

        The first so many windows, each ``stride`` rows behind the one before.
        """
        views = sliding_window_view(rows, self.rows, axis=0)[:: self.stride][:count]
        # A view has the window's rows last.
        return self.stored_windows(views.transpose(0, 2, 1))

    def stored_windows(self, windows: Array) -> Array:
        """Features (n, rows, features of a row), each window by itself -> the same as stored."""
        normal = self.pipeline.normal(windows)
        return self.stored(normal.reshape(-1, self.row)).reshape(windows.shape)

    def stored(self, features: Array) -> Array:
        """Features (n, features of a row), normal already -> the same as the input stores."""
        if not self.rescales:
            return self.pipeline.real(features)
        raised = self.pipeline.centred(features) << RAISED_BITS
        if len(self.rescales) == 1:
            return quantize_s16(self.rescales[0], raised)
        columns = [quantize_s16(r, raised[:, i]) for i, r in enumerate(self.rescales)]
        return np.stack(columns, axis=1)


def front_end_of(path: str | Path) -> Pipeline | Vision | None:
    """What a model's file carries, for samples or for a camera; None where it has none.

    Raises:
        ModelFormatError: the file says what cannot be.

    """
    with error_context(file=str(path)):
        found = entry_of(map_file(path), ENTRY)
        if found is None:
            return None
        try:
            return front_end_from_json(found)
        except DataError as error:
            raise ModelFormatError(
                f"metadata '{ENTRY}' cannot be read: {error.problem}",
                expected=error.expected,
                hint="attach the front end again: tinyrt front-end",
            ) from error


def pipeline_of(path: str | Path) -> Pipeline | None:
    """The front end for samples that a model's file carries; None where it has none, or a camera.

    Raises:
        ModelFormatError: the file says what cannot be.

    """
    found = front_end_of(path)
    return found if isinstance(found, Pipeline) else None


def front_end_entry(front_end: Pipeline | Vision | None) -> dict[str, bytes]:
    """The metadata of a file that carries the front end; empty without one."""
    return {} if front_end is None else {ENTRY: front_end.to_json()}


def at_model(front_end: Pipeline | Vision, graph: Graph) -> Fitted | Sighted:
    """A front end at the model; raises as ``fitted`` and ``sighted``."""
    if isinstance(front_end, Vision):
        return sighted(front_end, graph)
    return fitted(front_end, graph)


def carried_on(path: str | Path, graph: Graph, *, streamed: bool = False) -> dict[str, bytes]:
    """The metadata of a file that is written from another one: its front end goes along.

    Args:
        path: the other file; an ONNX model carries none.
        graph: what is written.
        streamed: whether it now takes its newest rows only, and keeps the others.

    Raises:
        UnsupportedError: the front end does not fit any more.

    """
    front_end = front_end_of(path)
    if front_end is not None:
        if streamed and isinstance(front_end, Pipeline):
            front_end = replace(front_end, stride=None)
        with error_context(file=str(path)):
            at_model(front_end, graph)
    return front_end_entry(front_end)


def fitted(pipeline: Pipeline, graph: Graph) -> Fitted:
    """The front end at the model.

    Raises:
        UnsupportedError: the model has another number of inputs, its input holds no rows of such
            features or has no type for them, or its first output has no scores for the detector.

    """
    if len(graph.fed) != 1:
        raise UnsupportedError(
            f"the model has {len(graph.fed)} inputs",
            expected="one input, which takes the features",
            hint="call the front end of tinyrt.dsp yourself, and feed the other inputs",
        )
    value = graph.value(graph.fed[0])
    rows = _rows_in(value, pipeline)
    _check_normalized(value, pipeline)
    stride = _stride(pipeline, rows, has_state=bool(graph.states))
    if pipeline.detector is not None:
        _check_scores(graph.value(graph.answers[0]), pipeline.detector.classes)
    alarm = None if pipeline.anomaly is None else alarm_at(pipeline.anomaly, graph)
    return Fitted(pipeline, value, rows, stride, _rescales(pipeline, value), alarm)


def _rows_in(value: Value, pipeline: Pipeline) -> int:
    """Rows of features that an input holds, one after the other."""
    row = pipeline.row
    sizes = [size for size in value.shape if size != 1]
    count = int(np.prod(sizes, dtype=np.int64))
    in_order = len(sizes) < 2 or (len(sizes) == 2 and sizes[1] == row)
    if not in_order or count % row or not count:
        raise UnsupportedError(
            f"the input holds no rows of {row} features",
            tensor=value.describe(),
            expected=f"[1, rows, {row}], with ones between or behind, or [1, rows * {row}]",
            hint="give log_mel as many bands as the model was trained with, or transpose its input"
            if pipeline.motion is None
            else "give motion the axes, edges and peaks that the model was trained with",
        )
    return count // row


def _check_normalized(value: Value, pipeline: Pipeline) -> None:
    count = int(np.prod(value.shape, dtype=np.int64))
    if pipeline.normalize is not None and count > MAX_NORMALIZED:
        raise UnsupportedError(
            f"a window has {count:,} features",
            tensor=value.describe(),
            expected=f"at most {MAX_NORMALIZED:,}, whose squares add up within 64 bits",
            hint="leave normalize out, or train with shorter windows",
        )


def _stride(pipeline: Pipeline, rows: int, *, has_state: bool) -> int:
    stride = rows if pipeline.stride is None else pipeline.stride
    if has_state and stride != rows:
        raise UnsupportedError(
            f"a stride of {stride} would show rows twice to a model that keeps state, or leave out "
            "some",
            expected=f"{rows}, which it takes at a time",
            hint="leave stride out",
        )
    if stride > rows:
        raise UnsupportedError(
            f"a stride of {stride} leaves rows out: a window has {rows}",
            expected=f"1 to {rows}",
            hint="leave stride out for windows side by side",
        )
    return stride


def _rescales(pipeline: Pipeline, value: Value) -> tuple[Rescale, ...]:
    if value.dtype not in TAKEN or (value.dtype is not DType.FLOAT32 and value.q is None):
        raise UnsupportedError(
            "the input takes no features",
            tensor=value.describe(),
            expected="float32, or int8 or int16 with a scale",
            hint="quantise the model with tinyrt quantize",
        )
    if value.dtype is DType.FLOAT32 or value.q is None:
        return ()
    scales = pipeline.scale if isinstance(pipeline.scale, tuple) else (pipeline.scale,)
    ratio = max(scales) / value.q.scale
    if not ratio < MAX_RATIO:
        raise UnsupportedError(
            f"a step of a feature is {ratio:.6g} steps of the input",
            tensor=value.describe(),
            expected=f"less than {MAX_RATIO:.0f}",
            hint="give the front end the scale of the features that the model was calibrated with",
        )
    return tuple(
        Rescale(0, *multiplier(s / value.q.scale / 2**RAISED_BITS), value.q.zero_point, value.dtype)
        for s in scales
    )


def alarm_at(anomaly: Anomaly, graph: Graph) -> AnomalyNumbers:
    """The integers of an alarm at an autoencoder, whatever its input is.

    Raises:
        UnsupportedError: the model has another number of inputs, or its first output is no
            reconstruction of the input.

    """
    if len(graph.fed) != 1:
        raise UnsupportedError(
            f"the model has {len(graph.fed)} inputs",
            expected="one input, which the first output gives back",
            hint="make the autoencoder a model of its own",
        )
    x, y = graph.value(graph.fed[0]), graph.value(graph.answers[0])
    are_s8 = x.dtype is DType.INT8 and y.dtype is DType.INT8 and x.nbytes == y.nbytes <= MAX_SIZE
    if not are_s8 or x.q is None or y.q is None:
        raise UnsupportedError(
            "the first output is no reconstruction of the input",
            tensor=y.describe(),
            expected=f"int8 with a scale, of {x.nbytes} numbers, as the input {x.describe()}",
            hint="quantise an autoencoder to int8, or leave anomaly out",
        )
    sides = (x.q.scale, x.q.zero_point), (y.q.scale, y.q.zero_point)
    return numbers_of(anomaly, x.nbytes, *sides)


def _check_scores(value: Value, classes: int) -> None:
    if value.dtype is not DType.INT8 or value.shape[-1:] != (classes,) or value.nbytes != classes:
        raise UnsupportedError(
            f"the first output has no scores of {classes} classes",
            tensor=value.describe(),
            expected=f"int8[1, {classes}], for the detector",
            hint="give the detector the model's number of classes, or quantise the model to int8",
        )
