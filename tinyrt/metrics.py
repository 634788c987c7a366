"""How good a model is, and how close to another one: accuracy, agreement, SQNR."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.data import InMemory, Source
from tinyrt.decibels import CEILING_DB
from tinyrt.errors import DataError
from tinyrt.floatmath import elementary
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.progress import Progress, later
from tinyrt.ir import DType, Graph
from tinyrt.ops.arg import CHOICES

Array = NDArray[Any]

PLACES = (DType.INT32, DType.INT64)
"""Dtypes of indices, such as arg_max's."""
_ON_PLACES = (*CHOICES, "cast", "reshape", "transpose")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of an evaluation.

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
    """Backend and budget of the models."""

    backend: str = DEFAULT_BACKEND
    max_memory: int | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """A model's first output and the logits before its final softmax, as real values.

    Attributes:
        outputs: (samples, ...).
        logits: (samples, ...), what ``logits_name`` names.
        seconds: how long it took.
        runs: how often the model ran for them.
        are_places: whether the outputs are places already, of the largest of something.

    """

    outputs: Array
    logits: Array
    seconds: float
    runs: int
    are_places: bool = False

    @property
    def classes(self) -> NDArray[np.int64]:
        """(samples, places): where the largest output is, or what the model says to that."""
        rows = self.outputs.reshape(len(self.outputs), -1)
        return rows.astype(np.int64) if self.are_places else rows.argmax(axis=1)[:, None]

    def part(self, start: int, samples: int) -> Answers:
        """The answers to ``samples`` samples from ``start`` on."""
        rows = slice(start, start + samples)
        return replace(self, outputs=self.outputs[rows], logits=self.logits[rows])


def evaluate_graph(
    graph: Graph,
    inputs: Mapping[str, Array] | Source,
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
        inputs: name -> samples; ``x`` stands for the only input. Or a source of them by the
            model's own names, of which memory holds a piece at a time.
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
    runner = _Runner(graph, setting)
    other = _Runner(against, setting) if isinstance(against, Graph) else against
    source = InMemory(runner.model.named(inputs)) if isinstance(inputs, Mapping) else inputs
    tally = _Tally()
    for start, total, feeds in runner.model.pieces(source):
        answers = runner.answers(feeds, total, later(progress, start, total))
        right = None
        if labels is not None:
            right = answers.classes == _label_indices(labels, start, total, answers)
        other_answers = None
        if isinstance(other, Answers):
            other_answers = other.part(tally.samples, len(answers.outputs))
        elif other is not None:
            other_answers = other.answers(other.fed_like(runner.model, feeds), total)
        tally.add(answers, right, other_answers)
    return tally.evaluation(runner.model.backend)


class _Tally:
    """Running sums of an evaluation: figures of each sample, without its outputs."""

    def __init__(self) -> None:
        self.samples, self._correct, self._seconds = 0, 0, 0.0
        self._right: list[int] = []
        self._alike: list[int] = []
        self._places = 0
        self._sqnr: list[Array] = []

    def add(self, answers: Answers, right: Array | None, other_answers: Answers | None) -> None:
        """One more piece: which of its places are as labelled, and what another model answers.

        Raises:
            DataError: the models' outputs differ in shape.
            BudgetError: there is no room for figures of so many samples.

        """
        self.samples += len(answers.outputs)
        self._seconds += answers.seconds
        self._places += answers.classes.size
        if right is not None:
            self._correct += int(right.all(axis=1).sum())
            self._right.append(int(right.sum()))
        if other_answers is None:
            return
        if other_answers.logits.size != answers.logits.size:
            raise DataError(
                f"the models' outputs differ in shape: {answers.logits.shape}",
                expected=f"{other_answers.logits.shape}",
                hint="compare models of the same task",
            )
        self._alike.append(int((answers.classes == other_answers.classes).sum()))
        ratios = sqnr_db(other_answers.logits, answers.logits)
        stored = current().zeros(ratios.nbytes, "figures of each sample").view(np.float64)
        stored[:] = ratios
        self._sqnr.append(stored)

    def evaluation(self, backend: str) -> Evaluation:
        """All of it as one."""
        return Evaluation(
            samples=self.samples,
            correct=self._correct if self._right else None,
            top1=sum(self._right) / self._places if self._right else None,
            agreement=sum(self._alike) / self._places if self._alike else None,
            sqnr_db=float(np.concatenate(self._sqnr).mean()) if self._sqnr else None,
            samples_per_second=self.samples / self._seconds,
            backend=backend,
        )


def sqnr_db(
    signal: Array, approximation: Array, ceiling: float = CEILING_DB
) -> NDArray[np.float64]:
    """``10 log10(sum(s^2) / sum((s - a)^2))`` for each sample (first axis), at most ``ceiling``."""
    s = signal.reshape(len(signal), -1).astype(np.float64)
    noise = ((s - approximation.reshape(len(s), -1)) ** 2).sum(axis=1)
    power = (s**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 10 * elementary.log10(power / noise)
    return np.minimum(np.where(noise == 0, ceiling, ratio), ceiling)


def logits_name(graph: Graph) -> str:
    """The value before a final softmax, else the first output itself.

    For arg_max and arg_min, their input counts as the output.
    """
    name, is_choice = graph.outputs[0], False
    producer = graph.producer(name)
    while producer is not None and producer.op in ("dequantize", "quantize", *_ON_PLACES):
        source = producer.inputs[0]
        if producer.op in CHOICES or (is_choice and producer.op == "reshape"):
            is_choice, name = True, source
        elif producer.op in _ON_PLACES and graph.value(source).dtype not in PLACES:
            break
        producer = graph.producer(source)
    if producer is not None and producer.op == "softmax":
        return producer.inputs[0]
    return name


def answers_of(
    graph: Graph, inputs: Mapping[str, Array], setting: Setting | None = None
) -> Answers:
    """A model's answers; arguments and errors as for ``evaluate_graph``."""
    runner = _Runner(graph, setting or Setting())
    feeds = runner.model.check_inputs(inputs)
    return runner.answers(feeds, runner.model.runs(feeds))


class _Runner:
    """A model that returns the logits before a final softmax beside its first output."""

    def __init__(self, graph: Graph, setting: Setting) -> None:
        self._output, self._logits = graph.outputs[0], logits_name(graph)
        names = dict.fromkeys((self._output, self._logits, *(after for _, after in graph.states)))
        self.model = Model(
            replace(graph, outputs=tuple(names)),
            backend=setting.backend,
            max_memory=setting.max_memory,
        )
        self._warm = False

    def answers(
        self, feeds: Mapping[str, Array], total: int, progress: Progress | None = None
    ) -> Answers:
        """The model's answers to a piece of ``total`` runs."""
        model = self.model
        if not self._warm:
            model.allocate(total)
            self._warm = True
        start = time.perf_counter()
        raw = model.run_raw(feeds, progress, of=total)
        seconds = time.perf_counter() - start
        real = {name: model.real(name, array) for name, array in raw.items()}
        return Answers(
            real[self._output],
            real[self._logits],
            seconds,
            model.runs(feeds),
            model.graph.value(self._output).dtype in PLACES,
        )

    def fed_like(self, model: Model, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Another model's inputs as this one takes them: as real values, matched by position."""
        real = (
            feeds[name] if feeds[name].dtype.kind == "f" else model.real(name, feeds[name])
            for name in model.graph.fed
        )
        return self.model.check_inputs(dict(zip(self.model.graph.fed, real, strict=False)))


def _label_indices(labels: Array, start: int, total: int, answers: Answers) -> NDArray[np.int64]:
    """(samples, places): the labels of a piece of ``total`` runs, behind ``start`` of them.

    Raises:
        DataError: the labels are no class indices or one-hot rows, or not as many as there must be.

    """
    samples, places = answers.classes.shape
    rows = np.atleast_1d(labels)
    each, remainder = divmod(len(rows), total)
    part = rows[start * each : (start + answers.runs) * each]
    one_hot = labels.ndim == 2 and labels.shape[1] > 1 and places == 1
    indices = part.argmax(axis=1) if one_hot else part
    classes = math.inf if answers.are_places else answers.outputs[0].size
    fits = not remainder and indices.dtype.kind in "iu" and indices.size == samples * places
    if not fits or indices.min() < 0 or indices.max() >= classes or not np.isfinite(part).all():
        limit = "" if answers.are_places else f" from 0 to {classes - 1}"
        raise DataError(
            f"labels 'y' are {labels.dtype}{list(labels.shape)}"
            + (f", from {indices.min()} to {indices.max()}" if fits else ""),
            expected=f"{samples // answers.runs * total * places} class indices{limit}",
        )
    return indices.reshape(samples, places).astype(np.int64)
