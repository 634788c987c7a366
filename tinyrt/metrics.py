"""How good a model is, and how close to another one: accuracy, agreement, SQNR."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.answering import Answers, Judging, Pair, Setting, here
from tinyrt.budget import current
from tinyrt.data import InMemory, Source
from tinyrt.decibels import CEILING_DB
from tinyrt.errors import DataError
from tinyrt.floatmath import elementary
from tinyrt.interpreter import DEFAULT_BACKEND
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import Graph

Array = NDArray[Any]


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
        samples_per_second: throughput of the evaluated model; of one process, where several share
            the samples.
        backend: what ran it; where ``auto`` was asked for, what that chose.

    """

    samples: int
    correct: int | None
    top1: float | None
    agreement: float | None
    sqnr_db: float | None
    samples_per_second: float
    backend: str


def evaluate_graph(
    graph: Graph,
    inputs: Mapping[str, Array] | Source,
    labels: Array | None = None,
    against: Graph | Answers | None = None,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int | None = None,
    progress: Progress | None = None,
    judging: Judging = here,
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
        judging: who has the models answer; see ``tinyrt.answering``.

    Raises:
        DataError: data or labels do not fit the model.
        BudgetError: a model asks for more memory.
        TinyrtError: as ``judging`` says.

    """
    other = against if isinstance(against, Graph) else None
    pair = Pair(graph, other, Setting(backend, max_memory))
    model = pair.model
    source = InMemory(model.named(inputs)) if isinstance(inputs, Mapping) else inputs
    tally = _Tally()
    for start, total, answers, other_answers in judging(pair, source, progress):
        right = None
        if labels is not None:
            right = answers.classes == _label_indices(labels, start, total, answers)
        if isinstance(against, Answers):
            other_answers = against.part(tally.samples, len(answers.outputs))
        tally.add(answers, right, other_answers)
    return tally.evaluation(model.backend)


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
