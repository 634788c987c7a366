"""How good a model is, and how close to another one: accuracy, agreement, SQNR."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.interpreter.model import Model, Progress
from tinyrt.ir import DType, Graph
from tinyrt.ops.arg import CHOICES

Array = NDArray[Any]

PLACES = (DType.INT32, DType.INT64)
"""Dtypes of what tells where something is."""
_ON_PLACES = (*CHOICES, "cast", "reshape", "transpose")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation found.

    Attributes:
        samples: number of samples.
        correct: samples whose largest output is at their label, or of a model that answers with
            places itself, whose places are all as labelled; None without labels.
        top1: ``correct`` as a fraction of ``samples``; of several places to a sample, the fraction
            of places.
        agreement: fraction of samples (or places) with the same arg-max as the other model's.
        sqnr_db: signal-to-quantisation-noise ratio against the other model in dB, the mean over
            samples, of the output before a final arg_max and softmax; infinite samples count as
            200 dB.
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
    max_memory: int | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's first output and what stands before its final softmax, as real values.

    Attributes:
        outputs: (samples, ...).
        logits: (samples, ...), what ``logits_name`` names.
        seconds: how long it took.
        backend: what ran the model.
        are_places: whether the outputs are places already, of the largest of something.

    """

    outputs: Array
    logits: Array
    seconds: float
    backend: str
    are_places: bool = False

    @property
    def classes(self) -> NDArray[np.int64]:
        """(samples, places): where the largest output is, or what the model says to that."""
        rows = self.outputs.reshape(len(self.outputs), -1)
        return rows.astype(np.int64) if self.are_places else rows.argmax(axis=1)[:, None]


def evaluate_graph(
    graph: Graph,
    inputs: Mapping[str, Array],
    labels: Array | None = None,
    against: Graph | Answers | None = None,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate a model on data.

    Args:
        graph: the model.
        inputs: name -> samples; ``x`` stands for the only input.
        labels: (samples,) class indices, or one-hot rows; of a model that answers with places, as
            many as it has.
        against: a model to compare with, usually the float one; it gets the same inputs (those
            of an int8 model as real values), matched by position. Or what ``answers_of`` has of it.
        backend: the interpreter's backend.
        max_memory: bytes that this may cost.
        progress: called with the samples done and their total.

    Raises:
        DataError: data or labels do not fit the model.
        BudgetError: a model asks for more memory.

    """
    setting = Setting(backend, max_memory)
    answers = answers_of(graph, inputs, setting, progress)
    samples = len(answers.outputs)
    correct = top1 = None
    if labels is not None:
        right = answers.classes == _label_indices(labels, answers)
        correct, top1 = int(right.all(axis=1).sum()), float(right.mean())
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
        agreement = float((answers.classes == other.classes).mean())
        sqnr = float(sqnr_db(other.logits, answers.logits).mean())
    return Evaluation(
        samples=samples,
        correct=correct,
        top1=top1,
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
    """The value before a final softmax, else the first output itself.

    Where that is the place of an extremum, what it is chosen from takes the output's part.
    """
    name, chosen = graph.outputs[0], False
    producer = graph.producer(name)
    while producer is not None and producer.op in ("dequantize", "quantize", *_ON_PLACES):
        source = producer.inputs[0]
        if producer.op in CHOICES or (chosen and producer.op == "reshape"):
            chosen, name = True, source
        elif producer.op in _ON_PLACES and graph.value(source).dtype not in PLACES:
            break
        producer = graph.producer(source)
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
    are_places = graph.value(output).dtype in PLACES
    return Answers(real[output], real[logits], seconds, model.backend, are_places)


def _inputs_of(other: Graph, graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The model's inputs as the other model takes them: as real values, matched by position."""
    model = Model(graph)
    feeds = model.check_inputs(inputs)
    real = (
        feeds[name] if feeds[name].dtype.kind == "f" else model.real(name, feeds[name])
        for name in graph.fed
    )
    return dict(zip(other.fed, real, strict=False))


def _label_indices(labels: Array, answers: Answers) -> NDArray[np.int64]:
    """(samples, places)."""
    wanted = answers.classes.shape
    one_hot = labels.ndim == 2 and labels.shape[1] > 1 and wanted[1] == 1
    indices = labels.argmax(axis=1) if one_hot else labels
    classes = math.inf if answers.are_places else answers.outputs[0].size
    fits = indices.dtype.kind in "iu" and indices.size == math.prod(wanted)
    if not fits or indices.min() < 0 or indices.max() >= classes:
        limit = "" if answers.are_places else f" from 0 to {classes - 1}"
        raise DataError(
            f"labels 'y' are {labels.dtype}{list(labels.shape)}",
            expected=f"{math.prod(wanted)} class indices{limit}",
        )
    return indices.reshape(wanted).astype(np.int64)
