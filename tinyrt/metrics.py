"""How good a model is, and how close to another one: accuracy, agreement, SQNR."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError
from tinyrt.interpreter import DEFAULT_BACKEND, MAX_MEMORY
from tinyrt.interpreter.model import Model, Progress
from tinyrt.ir import Graph

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation found.

    Attributes:
        samples: number of samples.
        correct: samples whose largest output is at their label; None without labels.
        top1: ``correct`` as a fraction of ``samples``.
        agreement: fraction of samples with the same arg-max as the other model's.
        sqnr_db: signal-to-quantisation-noise ratio against the other model in dB, the mean over
            samples, of the output before a final softmax; infinite samples count as 200 dB.
        samples_per_second: throughput of the evaluated model.
        backend: what ran it; where ``auto`` was asked for, what that chose.

    """

    samples: int
    correct: int | None
    top1: float | None
    agreement: float | None
    sqnr_db: float | None
    samples_per_second: float
    backend: str


@dataclass(frozen=True, slots=True)
class Setting:
    """What runs the models."""

    backend: str = DEFAULT_BACKEND
    max_memory: int = MAX_MEMORY


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's first output and what stands before its final softmax, as real values."""

    outputs: Array
    logits: Array
    seconds: float
    backend: str


def evaluate_graph(
    graph: Graph,
    inputs: Mapping[str, Array],
    labels: Array | None = None,
    against: Graph | Answers | None = None,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int = MAX_MEMORY,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a model on data.

    Args:
        graph: the model.
        inputs: name -> samples; ``x`` stands for the only input.
        labels: (samples,) class indices, or one-hot rows.
        against: a model to compare with, usually the float one; it gets the same inputs (those
            of an int8 model as real values), matched by position. Or what ``answers_of`` has of it.
        backend: the interpreter's backend.
        max_memory: bytes that activations may take.
        progress: called with the samples done and their total.

    Raises:
        DataError: data or labels do not fit the model.
        BudgetError: a model asks for more memory.

    """
    setting = Setting(backend, max_memory)
    answers = answers_of(graph, inputs, setting, progress)
    samples = len(answers.outputs)
    classes = _classes(answers.outputs)
    correct = None
    if labels is not None:
        correct = int((classes == _label_indices(labels, answers.outputs)).sum())
    agreement = sqnr = None
    if against is not None:
        other = against
        if isinstance(other, Graph):
            other = answers_of(other, _inputs_of(other, graph, inputs), setting)
        if other.logits.size != answers.logits.size:
            raise DataError(
                f"the models' outputs differ in shape: {answers.logits.shape}",
                expected=f"{other.logits.shape}",
                hint="compare models of the same task",
            )
        agreement = float((classes == _classes(other.outputs)).mean())
        sqnr = float(sqnr_db(other.logits, answers.logits).mean())
    return Evaluation(
        samples=samples,
        correct=correct,
        top1=None if correct is None else correct / samples,
        agreement=agreement,
        sqnr_db=sqnr,
        samples_per_second=samples / answers.seconds,
        backend=answers.backend,
    )


def sqnr_db(signal: Array, approximation: Array, ceiling: float = 200.0) -> NDArray[np.float64]:
    """``10 log10(sum(s^2) / sum((s - a)^2))`` for each sample (first axis), at most ``ceiling``."""
    s = signal.reshape(len(signal), -1).astype(np.float64)
    noise = ((s - approximation.reshape(len(s), -1)) ** 2).sum(axis=1)
    power = (s**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 10 * np.log10(power / noise)
    return np.minimum(np.where(noise == 0, ceiling, ratio), ceiling)


def logits_name(graph: Graph) -> str:
    """The value before a final softmax, else the first output itself."""
    name = graph.outputs[0]
    producer = graph.producer(name)
    while producer is not None and producer.op in ("dequantize", "quantize"):
        producer = graph.producer(producer.inputs[0])
    if producer is not None and producer.op == "softmax":
        return producer.inputs[0]
    return name


def answers_of(
    graph: Graph,
    inputs: Mapping[str, Array],
    setting: Setting | None = None,
    progress: Progress | None = None,
) -> Answers:
    """What a model answers; arguments and errors as for ``evaluate_graph``."""
    setting = setting or Setting()
    output, logits = graph.outputs[0], logits_name(graph)
    names = dict.fromkeys((output, logits, *(after for _, after in graph.states)))
    model = Model(
        replace(graph, outputs=tuple(names)),
        backend=setting.backend,
        max_memory=setting.max_memory,
    )
    feeds = model.check_inputs(inputs)
    model.allocate(len(next(iter(feeds.values()))))
    start = time.perf_counter()
    raw = model.run_raw(feeds, progress)
    seconds = time.perf_counter() - start
    real = {name: model.real(name, array) for name, array in raw.items()}
    return Answers(real[output], real[logits], seconds, model.backend)


def _inputs_of(other: Graph, graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The model's inputs as the other model takes them: as real values, matched by position."""
    model = Model(graph)
    feeds = model.check_inputs(inputs)
    real = (
        feeds[name] if feeds[name].dtype.kind == "f" else model.real(name, feeds[name])
        for name in graph.fed
    )
    return dict(zip(other.fed, real, strict=False))


def _classes(outputs: Array) -> NDArray[np.int64]:
    return np.asarray(outputs.reshape(len(outputs), -1).argmax(axis=1))


def _label_indices(labels: Array, outputs: Array) -> NDArray[np.int64]:
    classes = outputs[0].size
    indices = labels.argmax(axis=1) if labels.ndim == 2 and labels.shape[1] > 1 else labels
    indices = indices.reshape(-1)
    fits = indices.dtype.kind in "iu" and len(indices) == len(outputs)
    if not fits or indices.min() < 0 or indices.max() >= classes:
        raise DataError(
            f"labels 'y' are {labels.dtype}{list(labels.shape)}",
            expected=f"{len(outputs)} class indices from 0 to {classes - 1}",
        )
    return indices.astype(np.int64)
