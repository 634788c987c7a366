"""What each output of a model learns: from labels, from a teacher, or from both.

What an output is follows from its labels' dtype and shape, as people keep them: integers are
classes (of a sample, or of each place in it), floats in the output's shape are values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from tinyrt.errors import DataError
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph, Shape
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.distill import softened
from tinyrt.train.ends import at_ends, ends_of
from tinyrt.train.losses import bce_loss, cross_entropy, kl_loss, mse_loss

LEAST_SPREAD = 1e-12
"""What values that never change count as varying by."""


class Kind(StrEnum):
    """What an output's numbers are."""

    CLASSES = "classes"
    """One of several classes for each row of the last dimension; trained by cross entropy."""
    BINARY = "binary"
    """Yes or no for each number; by binary cross entropy, behind a logistic by squared error."""
    SHARES = "shares"
    """Probabilities along the last dimension; by the Kullback-Leibler divergence."""
    VALUES = "values"
    """Real values; by the squared error, as a part of their variance."""


@dataclass(frozen=True, slots=True)
class Teaching:
    """How much a teacher counts.

    Attributes:
        weight: share of the teacher in the loss, where there are labels, too.
        temperature: what logits are divided by, as for ``Distillation``.

    Raises:
        DataError: one is out of range.

    """

    weight: float = 0.7
    temperature: float = 4.0

    def __post_init__(self) -> None:
        if not (0 <= self.weight <= 1 and self.temperature > 0):
            raise DataError(
                f"a teacher of weight {self.weight:g} at temperature {self.temperature:g}",
                expected="a weight from 0 to 1, and a temperature above 0",
            )


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What one output learns; of all samples, of which batches are rows.

    Attributes:
        name: the output.
        kind: what its numbers are.
        in_logistic: whether they come out of a logistic function.
        labels: (n, ...), classes as integers; None where a teacher alone says what is right.
        teacher: (n, ...), a teacher's answers, before a final softmax; None without one.
        teaching: how much they count.

    """

    name: str
    kind: Kind
    in_logistic: bool
    labels: Array | None
    teacher: Array | None
    teaching: Teaching = field(default_factory=Teaching)

    @property
    def measure(self) -> str:
        """What ``figure`` gives: ``top1``, ``agreement`` with the teacher, or ``mse``."""
        if self.kind is Kind.VALUES:
            return "mse"
        return "agreement" if self.labels is None else "top1"

    @property
    def learns_from(self) -> str:
        """In words."""
        both = {"labels": self.labels, "teacher": self.teacher}
        return " and ".join(name for name, array in both.items() if array is not None)

    def loss(self, answers: Tensor, rows: Array) -> Tensor:
        """How far answers, (batch, ...), are from what these rows of all samples should be."""
        terms = []
        if self.teacher is not None:
            weight = 1 if self.labels is None else self.teaching.weight
            terms.append(self._to_teacher(answers, self.teacher[rows]) * weight)
        if self.labels is not None:
            weight = 1 if self.teacher is None else 1 - self.teaching.weight
            terms.append(self._to_labels(answers, self.labels[rows]) * weight)
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]

    def figure(self, answers: Array, rows: Array) -> float:
        """How good answers to these rows are, by ``measure``."""
        right = self.teacher if self.labels is None else self.labels
        assert right is not None, "a lesson has labels, a teacher, or both"
        right, answers = right[rows], answers.reshape(len(rows), -1)
        if self.kind is Kind.VALUES:
            error = answers.astype(np.float64) - right.reshape(answers.shape)
            return float(np.square(error).mean())
        if self.kind is Kind.BINARY:
            least = 0.5 if self.in_logistic else 0.0
            return float(np.mean((answers >= least) == (right.reshape(answers.shape) > 0.5)))
        if self.kind is Kind.SHARES or self.labels is None:
            classes = right.shape[-1]
            right = right.reshape(-1, classes).argmax(axis=1)
        else:
            classes = answers.size // right.size
        found = answers.reshape(-1, classes).argmax(axis=1)
        return float(np.mean(found == right.reshape(-1)))

    def score(self, answers: Array, rows: Array) -> float:
        """The same, greater for better: the share that is right, else the loss below zero.

        Of equal shares, that with less loss is greater, by less than one more right answer is.
        """
        loss = self.loss(Tensor(answers), rows).item()
        if self.measure != "top1":
            return -loss
        return self.figure(answers, rows) - loss / (1 + loss) / answers.size

    def _to_labels(self, answers: Tensor, labels: Array) -> Tensor:
        if self.kind is Kind.CLASSES:
            return cross_entropy(answers.reshape(labels.size, -1), labels.reshape(-1))
        if self.kind is Kind.SHARES:
            rows = labels.reshape(-1, labels.shape[-1])
            return kl_loss(answers.reshape(rows.shape), rows)
        target = labels.reshape(answers.shape)
        if self.kind is Kind.BINARY:
            return mse_loss(answers, target) if self.in_logistic else bce_loss(answers, target)
        return mse_loss(answers, target) * (1 / self._spread(self.labels))

    def _to_teacher(self, answers: Tensor, targets: Array) -> Tensor:
        if self.kind in (Kind.CLASSES, Kind.SHARES):
            rows = targets.reshape(-1, targets.shape[-1])
            t = self.teaching.temperature
            return kl_loss(answers.reshape(rows.shape) * (1 / t), softened(rows, t)) * t**2
        error = mse_loss(answers, targets.reshape(answers.shape))
        return error * (1 / self._spread(self.teacher))

    def _spread(self, all_values: Array | None) -> float:
        assert all_values is not None, "only what is there is compared with"
        return max(float(all_values.var(dtype=np.float64)), LEAST_SPREAD)


@dataclass(frozen=True, slots=True, eq=False)
class Teacher:
    """A model that another one learns from.

    Attributes:
        graph: a float or quantised model.
        answers: to all samples, for each output, as ``answers_at_ends`` gives them.

    """

    graph: Graph
    answers: tuple[Array, ...]


def lessons_of(
    graph: Graph,
    labels: Mapping[str, Array],
    teacher: Teacher | None,
    teaching: Teaching,
) -> tuple[Lesson, ...]:
    """What each output of a model learns.

    Args:
        graph: the float model.
        labels: output name -> what is right, (n, ...); outputs may lack them where there is a
            teacher.
        teacher: a model of the same outputs, in this order, and its answers.
        teaching: how much the teacher counts.

    Raises:
        DataError: labels or a teacher's answers do not fit an output.

    """
    if teacher is not None and len(teacher.graph.outputs) != len(graph.outputs):
        raise DataError(
            f"the teacher has {len(teacher.graph.outputs)} outputs",
            expected=f"{len(graph.outputs)}, as the model that it teaches",
            hint="teach with a model of the same task",
        )
    lessons = []
    for i, (name, end) in enumerate(zip(graph.outputs, ends_of(graph), strict=True)):
        shape, in_softmax = graph.value(end).shape[1:], end != name
        in_logistic = _op_behind(graph, end) == "logistic"
        targets = None
        if teacher is not None:
            targets = _targets(name, shape, in_logistic, teacher, i)
            in_softmax = in_softmax or ends_of(teacher.graph)[i] != teacher.graph.outputs[i]
        right = labels.get(name)
        if right is None:
            kind = Kind.SHARES if in_softmax else Kind.VALUES
        else:
            kind, right = _labelled(name, right, shape, in_softmax, in_logistic)
        lessons.append(Lesson(name, kind, in_logistic, right, targets, teaching))
    return tuple(lessons)


def _targets(name: str, shape: Shape, in_logistic: bool, teacher: Teacher, i: int) -> Array:
    """The teacher's answers for output ``i``, in the shape of the model's own."""
    answers = teacher.answers[i]
    if answers[0].size != math.prod(shape):
        raise DataError(
            f"the teacher gives {list(answers.shape[1:])} for output '{name}'",
            expected=f"{list(shape)}, as the model that it teaches",
            hint="teach with a model of the same task",
        )
    if in_logistic is not (_op_behind(teacher.graph, ends_of(teacher.graph)[i]) == "logistic"):
        raise DataError(
            f"one of model and teacher gives output '{name}' out of a logistic function, and one "
            "does not",
            expected="both with it, or both without",
            hint="export them alike",
        )
    return answers.reshape(len(answers), *shape)


def answers_at_ends(graph: Graph, inputs: Mapping[str, Array]) -> tuple[Array, ...]:
    """A model's answers for each output, before a final softmax, as real values.

    Args:
        graph: a float or quantised model.
        inputs: the samples, as another model takes them that has the same inputs in this order.

    """
    model = Model(at_ends(graph))
    outputs = model.run(dict(zip(model.graph.fed, inputs.values(), strict=True)))
    return tuple(outputs[name] for name in ends_of(graph))


def _op_behind(graph: Graph, name: str) -> str | None:
    """The op that computed a value, apart from those that move it."""
    node = graph.producer(name)
    while node is not None and node.op in ("reshape", "transpose"):
        node = graph.producer(node.inputs[0])
    return None if node is None else node.op


def _labelled(
    name: str, labels: Array, shape: Shape, in_softmax: bool, in_logistic: bool
) -> tuple[Kind, Array]:
    """What labels make of an output of that shape, and the labels as the loss takes them."""
    if labels.dtype.kind == "f":
        if _squeezed(labels.shape[1:]) != _squeezed(shape) or not np.isfinite(labels).all():
            raise _misfit(name, labels, shape)
        values = labels.reshape(len(labels), *shape).astype(np.float32)
        if not in_softmax:
            return Kind.VALUES, values
        if values.min() < 0 or not np.allclose(values.sum(axis=-1), 1, atol=1e-3):
            raise _misfit(name, labels, shape)
        return Kind.SHARES, values
    if labels.dtype.kind not in "iub":
        raise _misfit(name, labels, shape)
    own, count = _squeezed(labels.shape[1:]), (shape or (1,))[-1]
    is_marked = own == _squeezed(shape) and labels.min() >= 0 and labels.max() <= 1
    if count > 1 and own == _squeezed(shape[:-1]) and labels.min() >= 0 and labels.max() < count:
        return Kind.CLASSES, labels.astype(np.int64)
    if not is_marked:
        raise _misfit(name, labels, shape)
    rows = labels.reshape(len(labels), *shape)
    if count > 1 and not in_logistic and (rows.sum(axis=-1) == 1).all():
        return Kind.CLASSES, rows.argmax(axis=-1)
    if in_softmax:
        raise _misfit(name, labels, shape)
    return Kind.BINARY, rows.astype(np.float32)


def _squeezed(shape: Shape) -> Shape:
    return tuple(n for n in shape if n != 1)


def _misfit(name: str, labels: Array, shape: Shape) -> DataError:
    count, places = (shape or (1,))[-1], list(_squeezed(shape[:-1]))
    finite = labels.dtype.kind not in "f" or np.isfinite(labels).all()
    between = f", from {labels.min()} to {labels.max()}" if labels.dtype.kind in "iubf" else ""
    n = len(labels)
    return DataError(
        f"labels of output '{name}' are {labels.dtype}{list(labels.shape)}"
        + (between if finite else ", not all of them finite"),
        expected=f"class indices below {count}, int{[n, *places]}; one-hot rows or marks of 0 and "
        f"1, int{[n, *shape]}; or finite values, float{[n, *shape]}, which behind a softmax are "
        "probabilities",
        hint="y.astype(int) makes classes of floats, y.astype(float) values of integers",
    )
