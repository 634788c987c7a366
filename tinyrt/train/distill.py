"""Distillation: a small model learns from what a great one answers, not from labels alone.

Hinton, Vinyals & Dean 2015: "Distilling the Knowledge in a Neural Network". The teacher's
probabilities of the wrong classes tell the student which classes are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tinyrt.errors import DataError
from tinyrt.floatmath import elementary
from tinyrt.floatmath.products import matmul
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.feed import inputs_of
from tinyrt.train.fit import Loss
from tinyrt.train.losses import cross_entropy, kl_loss

Answer = Callable[[Array], Array]

MIN_PROBABILITY = 1e-9
"""What a teacher's probability of 0 counts for: its logarithm must be finite."""


@dataclass(frozen=True, slots=True)
class Features:
    """Which inner results are to be alike in teacher and student.

    Attributes:
        student: path of the student's part, as in ``named_modules``.
        teacher: path of the teacher's part, where that is a module; or a function that gives the
            teacher's features for a batch of samples.
        weight: how much their difference counts.

    """

    student: str
    teacher: str | Answer
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Distillation:
    """An objective for ``fit``: ``fit(student, ..., objective=Distillation(teacher))``.

    ``(1 - weight) * loss(student, labels) + weight * T^2 * KL(teacher / T || student / T)``, and
    the difference of features. Samples reach the teacher as the student sees them, augmented.

    Attributes:
        teacher: gives logits: a module, any function of an array of samples, or the interpreter's
            ``Model`` of an ONNX or .tflite file, whose final softmax is undone.
        temperature: what logits are divided by before the softmax: the greater, the more the
            improbable classes count.
        weight: share of the teacher in the loss; the rest is the labels'.
        loss: of the student's logits and the labels.
        features: inner results to be matched, if any.

    """

    teacher: Module | Model | Answer
    temperature: float = 4.0
    weight: float = 0.7
    loss: Loss = cross_entropy
    features: tuple[Features, ...] = field(default=())

    def __call__(self, student: Module, samples: Array, labels: Array) -> Tensor:
        """The loss of a batch, a tensor of one element."""
        paths = [f.student for f in self.features]
        with recording(student, paths) as outputs:
            logits = student(*inputs_of(samples))
        targets, teacher_features = self._teacher_outputs(samples)
        soft = kl_loss(logits * (1 / self.temperature), softened(targets, self.temperature))
        total = soft * (self.weight * self.temperature**2)
        if self.weight < 1:
            total = total + self.loss(logits, labels) * (1 - self.weight)
        for features, target in zip(self.features, teacher_features, strict=True):
            total = total + similarity_loss(outputs[features.student], target) * features.weight
        return total

    def _teacher_outputs(self, samples: Array) -> tuple[Array, list[Array]]:
        """The teacher's logits and features."""
        if not isinstance(self.teacher, Module):
            logits, outputs = logits_of(self.teacher)(samples), {}
        else:
            inner = [f.teacher for f in self.features if isinstance(f.teacher, str)]
            with self.teacher.evaluating(), no_grad(), recording(self.teacher, inner) as tensors:
                logits = self.teacher(*inputs_of(samples)).data
            outputs = {path: tensor.data for path, tensor in tensors.items()}
        teacher_features = []
        for features in self.features:
            if isinstance(features.teacher, str) and features.teacher not in outputs:
                raise DataError(
                    f"the teacher has no part '{features.teacher}': it is not a module",
                    hint="give a function from samples to features instead",
                )
            source = features.teacher
            teacher_features.append(outputs[source] if isinstance(source, str) else source(samples))
        return logits, teacher_features


def logits_of(answer: Model | Answer) -> Answer:
    """The same answers as logits: a model of the interpreter may end in a softmax.

    Raises:
        DataError: the model has several outputs.

    """
    if not isinstance(answer, Model):
        return answer
    if len(answer.graph.outputs) != 1:
        raise DataError(
            f"the teacher has outputs {', '.join(answer.graph.outputs)}", expected="one output"
        )
    (name,), model = answer.graph.outputs, answer

    def logits(samples: Array) -> Array:
        several = isinstance(samples, tuple)
        output = model.run(
            dict(zip(model.graph.fed, samples, strict=True)) if several else samples
        )[name]
        return as_logits(model.graph, output)

    return logits


def as_logits(graph: Graph, answers: Array) -> Array:
    """What a model's only output has said, as logits: a softmax at its end is undone."""
    if _before_moves(graph, graph.outputs[0]) != "softmax":
        return answers
    return elementary.log(np.maximum(answers, MIN_PROBABILITY))


def _before_moves(graph: Graph, name: str) -> str | None:
    """The op that computed a value, apart from those that hand it on."""
    last = graph.producer(name)
    while last is not None and last.op in ("dequantize", "reshape"):
        last = graph.producer(last.inputs[0])
    return None if last is None else last.op


def softened(logits: Array, temperature: float) -> Array:
    """``softmax(logits / temperature)`` along the last dimension."""
    scaled = logits / temperature
    powers = elementary.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def similarity_loss(features: Tensor, target: Array) -> Tensor:
    """How differently two models see which samples of a batch are alike.

    Tung & Mori 2019, "Similarity-Preserving Knowledge Distillation": the matrix of all samples'
    products with each other, its rows normalised, is compared. So neither channels nor sizes of
    the two have to agree, and no layer must be trained to bring them together.

    Args:
        features: the student's, (n, ...).
        target: the teacher's, (n, ...) with the same n.

    """
    n = features.shape[0]
    rows = features.reshape(n, -1)
    student_rows = rows @ rows.transpose(1, 0)
    student_rows = (
        student_rows * ((student_rows * student_rows).sum(-1, keepdims=True) + 1e-12) ** -0.5
    )
    flat = target.reshape(n, -1)
    teacher_rows = matmul(flat, flat.T)
    teacher_rows = teacher_rows / np.sqrt(
        (teacher_rows * teacher_rows).sum(-1, keepdims=True) + 1e-12
    )
    difference = student_rows - teacher_rows.astype(features.dtype)
    total: Tensor = (difference * difference).sum() * (1 / n)
    return total


@contextmanager
def recording(module: Module, paths: Iterable[str]) -> Iterator[dict[str, Tensor]]:
    """Collect the outputs of parts of a module within a ``with`` block, by their paths.

    Raises:
        DataError: there is no such part.

    """
    parts = dict(module.named_modules())
    names = list(paths)
    missing = [p for p in names if p not in parts]
    if missing:
        available = ", ".join(filter(None, parts))
        raise DataError(f"the module has no part {missing}", expected=available)
    outputs: dict[str, Tensor] = {}
    before = [(parts[p], parts[p].observers) for p in names]
    for path in names:
        parts[path].observers = (*parts[path].observers, partial(outputs.__setitem__, path))
    try:
        yield outputs
    finally:
        for part, observers in before:
            part.observers = observers
