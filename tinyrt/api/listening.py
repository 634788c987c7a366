"""A model with a front end: attached to its file, and at work on recordings."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.api.carried import require_carried
from tinyrt.api.inputs import Array
from tinyrt.api.reading import lost_channels, open_model
from tinyrt.attached import Fitted, at_model, fitted, front_end_entry
from tinyrt.budget import current
from tinyrt.convert.tflite.lost import lost_entry
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import AnomalyStream, DetectorStream, Pipeline, Vision
from tinyrt.dsp.anomaly import AnomalyNumbers
from tinyrt.dsp.vision import front_end_from_dict
from tinyrt.entry import entry
from tinyrt.errors import DataError, ModelFormatError, error_context
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import Graph
from tinyrt.series import read_series
from tinyrt.sighted import Sighted
from tinyrt.wav import Sound, read_wav

WINDOWS_AT_ONCE = 1024
"""Windows that are in memory together."""

NULLABLE = ("noise_reduction", "pcan", "log_shift", "fft", "coefficients")
"""Options of ``LogMel`` that may be none, for which TOML has no word: false stands for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """What a model answered to a recording.

    Attributes:
        raw: output -> its answers as the model stores them, (answers, ...).
        outputs: the same as real values.
        samples: int64 (answers,): how many samples had been heard when each answer came.
        detected: int32 (answers,): the class that each answer detected, -1 for none; None without a
            detector.
        errors: float64 (answers,): the mean squared error of each; None without an anomaly.
        alarms: whether each is an alarm; None likewise.
        sums: uint64 (answers,): the same errors in integers, as the device computes them.
        rate: samples in a second.
        backend: the backend that ran the model.

    """

    raw: dict[str, Array]
    outputs: dict[str, Array]
    samples: NDArray[np.int64]
    detected: NDArray[np.int32] | None
    rate: float
    backend: str
    errors: NDArray[np.float64] | None = None
    alarms: NDArray[np.bool_] | None = None
    sums: NDArray[np.uint64] | None = None


@entry
def attach_front_end(
    model: str | Path, front_end: Pipeline | str | Path | None, output: str | Path
) -> Fitted | Sighted | None:
    """Write a model's file with a front end in its metadata.

    Args:
        model: a .tflite file.
        front_end: a pipeline or a vision, or a .toml or .json file of its options; None to take one
            off.
        output: the .tflite file to write.

    Returns:
        The front end at the model.

    Raises:
        TinyrtError: the model or the options cannot be read, they do not fit each other, or the
            file cannot be written.

    """
    made = read_options(front_end) if isinstance(front_end, str | Path) else front_end
    graph = tflite_graph(model)
    with error_context(file=str(model)):
        fit = None if made is None else at_model(made, graph)
        lost = lost_entry(lost_channels(model, graph), graph)
        save_tflite(graph, output, lost | front_end_entry(made))
    return fit


def tflite_graph(model: str | Path) -> Graph:
    """A .tflite model as it is.

    Raises:
        ModelFormatError: it is an ONNX model, which carries no front end, or cannot be read.

    """
    if Path(model).suffix == ".onnx":
        raise ModelFormatError(
            "an ONNX model carries no front end",
            file=str(model),
            expected="a .tflite file",
            hint="tinyrt convert or tinyrt quantize makes one",
        )
    return open_model(model, optimize=False)


def read_options(path: str | Path) -> Pipeline | Vision:
    """The front end whose options a .toml or .json file holds.

    Raises:
        DataError: the file cannot be read, or an option is unknown or out of range.

    """
    path = Path(path)
    with error_context(file=str(path)):
        try:
            text = path.read_text(encoding="utf-8")
            options = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except OSError as error:
            raise DataError(
                f"cannot read the options: {error.strerror}", hint="check the path"
            ) from error
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"the options cannot be read: {error}",
                expected="TOML, or JSON in a file called *.json",
                hint="see docs/dsp.md for an example",
            ) from error
        if not isinstance(options, dict):
            raise DataError(
                f"the options are of type {type(options).__name__}", expected="options by name"
            )
        return front_end_from_dict(_with_none(options))


def _with_none(options: Mapping[str, Any]) -> dict[str, Any]:
    if "camera" in options:
        return dict(options)
    log_mel = options.get("log_mel", {})
    if isinstance(log_mel, Mapping):
        log_mel = {n: None if n in NULLABLE and x is False else x for n, x in log_mel.items()}
    return {**options, "log_mel": log_mel}


@entry
def listen_model(
    model: str | Path,
    audio: str | Path | ArrayLike,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Heard:
    """What a model with a front end answers to a recording, from a new beginning.

    Args:
        model: a .tflite file that carries a front end.
        audio: a WAV file of 16-bit samples of one channel, or such samples, int16; for features of
            motion, an .npy or .csv file of int16 (n, axes), or such an array.
        backend: the interpreter's backend.
        max_memory: bytes that model and recording may cost; by default 640 MiB and 8 times the
            files that are read.
        progress: called with the answers given and their total.

    Raises:
        DataError: the model has no front end, or the recording is of another rate or format.
        UnsupportedError: the front end does not fit the model.
        BudgetError: the model or the recording asks for more memory.

    """
    del max_memory  # taken by ``entry``
    pipeline = require_carried(model, Pipeline)
    graph = tflite_graph(model)
    sound = sound_of(audio, pipeline)
    with error_context(file=str(model)):
        fit = fitted(pipeline, graph)
        runner = Model(graph, backend=backend, file=str(model))
        rows = pipeline.stream().push(sound.samples)
        raw = _answers(fit, runner, rows, progress)
    count = len(next(iter(raw.values())))
    detected = None
    if pipeline.detector is not None:
        scores = raw[graph.answers[0]].reshape(count, pipeline.detector.classes)
        detected = DetectorStream(pipeline.detector).push(scores)
    front = pipeline.front
    frames = fit.rows - 1 + fit.stride * np.arange(count, dtype=np.int64)
    real = {name: runner.real(name, array) for name, array in raw.items()}
    samples = front.window + front.step * frames
    heard = Heard(raw, real, samples, detected, sound.rate, runner.backend)
    return heard if fit.anomaly is None else _judged(heard, fit, rows, fit.anomaly)


def _judged(heard: Heard, fit: Fitted, rows: Array, numbers: AnomalyNumbers) -> Heard:
    """The same with the error of each answer, and whether it is an alarm."""
    stream, y = AnomalyStream(numbers), next(iter(heard.raw.values()))
    count = len(heard.samples)
    parts = [
        stream.push(windows.reshape(len(windows) // fit.input.shape[0], -1), part)
        for start, windows in _windows(fit, rows, count)
        for part in [y[start : start + WINDOWS_AT_ONCE].reshape(-1, numbers.size)]
    ]
    none = np.zeros(0, np.uint64), np.zeros(0, np.bool_)
    sums, alarms = (np.concatenate([none[i], *(p[i] for p in parts)]) for i in range(2))
    return replace(heard, errors=sums * numbers.scale, alarms=alarms, sums=sums)


def sound_of(audio: str | Path | ArrayLike, pipeline: Pipeline) -> Sound:
    """A recording at the rate of the front end; series of numbers have no rate of their own.

    Raises:
        DataError: it is of another rate, or cannot be read.

    """
    rate = pipeline.front.sample_rate
    if not isinstance(audio, str | Path):
        return Sound(np.asarray(audio), rate)
    if pipeline.motion is not None:
        return Sound(read_series(audio, pipeline.axes), rate)
    sound = read_wav(audio)
    if sound.rate != rate:
        raise DataError(
            f"the recording has {sound.rate:,} samples a second",
            file=str(audio),
            expected=f"{rate:,}, as the model's front end takes them",
            hint=f"convert it: ffmpeg -i FILE -ac 1 -ar {rate} -c:a pcm_s16le OUT.wav",
        )
    return sound


def _answers(
    fit: Fitted, runner: Model, rows: Array, progress: Progress | None
) -> dict[str, Array]:
    """The raw answers to all windows of rows, (answers, ...)."""
    count = max(0, (len(rows) - fit.rows) // fit.stride + 1)
    parts: dict[str, list[Array]] = {name: [] for name in runner.graph.answers}
    values = {name: runner.graph.value(name) for name in parts}
    current().reserve(2 * count * sum(v.nbytes for v in values.values()), "all answers")
    for start, windows in _windows(fit, rows, count):
        raw = runner.run_raw({fit.input.name: windows})
        for name, array in raw.items():
            parts[name].append(array.reshape(-1, *_sample(values[name].shape)))
        if progress is not None:
            progress(start + len(parts[name][-1]), count)
    empty = {n: np.zeros((0, *_sample(v.shape)), v.dtype.numpy) for n, v in values.items()}
    return {name: np.concatenate([empty[name], *parts[name]]) for name in parts}


def _windows(fit: Fitted, rows: Array, count: int) -> Iterator[tuple[int, Array]]:
    """Windows as the model takes them, so many at a time, and how many came before."""
    first, *others = fit.input.shape
    for start in range(0, count, WINDOWS_AT_ONCE):
        stop = min(start + WINDOWS_AT_ONCE, count)
        part = rows[fit.stride * start : fit.stride * (stop - 1) + fit.rows]
        windows = fit.windows(part, stop - start)
        yield start, windows.reshape((stop - start) * first, *others)


def _sample(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of one answer: a leading one is left out."""
    return shape[1:] if shape[:1] == (1,) else shape
