"""How a candidate learns: in float, and for its integers; and how good its answers are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tinyrt.api.quantize import plainer
from tinyrt.convert.passes import optimize
from tinyrt.errors import DataError
from tinyrt.ir import Graph
from tinyrt.ops.shared.spec import Array
from tinyrt.quantize import quantize_graph
from tinyrt.search.candidate import Candidate
from tinyrt.search.order import Order
from tinyrt.search.problem import Problem
from tinyrt.search.remembered import remembered
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.distill import Answer, Distillation
from tinyrt.train.early_exit import EarlyExit
from tinyrt.train.fit import FitConfig, Loss, Objective, fit, objective_of
from tinyrt.train.losses import cross_entropy, mse_loss
from tinyrt.train.nn import Module
from tinyrt.train.optim import Adam
from tinyrt.train.pipeline.run import train_for_int8
from tinyrt.train.pipeline.samples import Samples
from tinyrt.train.pipeline.setting import QatSetting
from tinyrt.train.recipes.recipe import Training
from tinyrt.train.recipes.stages import CALIBRATION_SAMPLES

BATCH = 64
"""Samples that answers are computed for at once."""

FINER = 1e-7
"""What a loss counts beside a score at most: less than one sample of a million."""

LEAST = 1 / 512
"""Probability that counts for one that int8 stores as 0: half of its step."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How good answers are.

    Attributes:
        score: share of right ones, or the mean squared error below zero; greater is better.
        loss: the mean cross entropy of classes, which tells equals in score apart, or the squared
            error; less is better.

    """

    score: float
    loss: float

    @property
    def quality(self) -> float:
        """The score, and of equals in it the one with less loss."""
        return self.score - FINER * (1 - float(np.exp(-self.loss)))


def fit_candidate(
    candidate: Candidate, order: Order, epochs: int, problem: Problem, path: Path
) -> float:
    """Train up to some epoch, and score; samples are those that the network sees."""
    rows, held = problem.parts
    network = candidate.network
    # Who is told of each sample learns from its place among all.
    labels = problem.y[rows] if problem.told is None else rows
    whole = Training(order.epochs, candidate.learning_rate, order.epochs // 15, candidate.batch)
    steps = order.epochs * -(-len(rows) // candidate.batch)
    history = fit(
        network,
        Adam(network.parameters(), candidate.learning_rate),
        problem.x[rows],
        labels,
        FitConfig(epochs, candidate.batch, progress=False),
        rng=np.random.default_rng([order.seed, 1]),
        objective=objective_for(candidate, problem),
        # The rate of a step is that of the whole training, however many epochs this rung has.
        lr=lambda step, _: whole.lr(step, steps),
        augment=candidate.augment,
        validate=lambda module: score_of(module, problem, held),
        state_file=path,
    )
    return history[epochs - 1].score


def objective_for(candidate: Candidate, problem: Problem) -> Objective:
    """What training brings down: the loss, and the distance from a teacher's answers.

    Where the problem has what a teacher has told, it takes places of samples as labels.
    """
    if problem.told is None:
        teacher = problem.teacher
        return _objective(candidate, problem, None if teacher is None else remembered(teacher))
    y, told = problem.y, problem.told

    def placed(module: Module, samples: Array, places: Array) -> Tensor:
        return _objective(candidate, problem, lambda _: told[places])(module, samples, y[places])

    return placed


def _objective(candidate: Candidate, problem: Problem, teacher: Answer | None) -> Objective:
    loss = candidate.loss or loss_for(problem)
    final: Objective = objective_of(loss)
    if teacher is not None:
        final = Distillation(teacher, loss=loss)
    if not isinstance(candidate.network, EarlyExit):
        return final

    def joint(module: Module, samples: Array, labels: Array) -> Tensor:
        assert isinstance(module, EarlyExit), "the candidate's network"
        leaves, stays = module.both(Tensor(samples))
        share = module.weight
        return loss(leaves, labels) * share + final(_Gave(stays), samples, labels) * (1 - share)

    return joint


class _Gave(Module):
    """A network that has answered already."""

    def __init__(self, answers: Tensor) -> None:
        self.answers = answers

    def forward(self, x: Tensor) -> Tensor:
        del x
        return self.answers


def loss_for(problem: Problem) -> Loss:
    """Cross entropy of classes; the mean squared error of values."""
    if problem.has_classes:
        return cross_entropy
    return lambda answers, labels: mse_loss(answers, labels.reshape(answers.shape))


def score_of(module: Module, problem: Problem, rows: Array) -> float:
    """Share of right answers, or the squared error below zero."""
    answers = []
    with module.evaluating(), no_grad():
        for start in range(0, len(rows), BATCH):
            answers.append(module(Tensor(problem.x[rows[start : start + BATCH]])).data)
    return figure(np.concatenate(answers), problem.y[rows], problem)


def figure(answers: Array, right: Array, problem: Problem) -> float:
    """Share of right answers, or the mean squared error below zero.

    Raises:
        DataError: not all answers are finite: the largest of them would still be some class.

    """
    if not np.isfinite(answers).all():
        raise DataError(
            "answers of the trained network are not finite",
            expected="finite numbers",
            hint="train with a lower learning rate",
        )
    if problem.has_classes:
        return float(np.mean(answers.reshape(len(right), -1).argmax(axis=1) == right))
    errors = answers.astype(np.float64) - right.reshape(answers.shape)
    return -float(np.square(errors).mean())


def verdict(answers: Array, right: Array, problem: Problem) -> Verdict:
    """How good answers of a deployed model are: (n, ...), probabilities of classes, or values.

    Raises:
        DataError: not all are finite.

    """
    score = figure(answers, right, problem)
    if not problem.has_classes:
        return Verdict(score, -score)
    given = answers.reshape(len(right), -1)[np.arange(len(right)), right]
    losses = -np.log(np.maximum(given.astype(np.float64), LEAST))
    return Verdict(score, float(losses.mean()))


def trained_for_integers(candidate: Candidate, graph: Graph, order: Order, shown: Problem) -> Graph:
    """The graph trained for int8 or int4."""
    labels = {
        name: shown.y
        if shown.has_classes
        else shown.y.reshape(len(shown.y), *graph.value(name).shape[1:])
        for name in graph.answers
    }
    samples = Samples({graph.fed[0]: shown.x}, labels)
    setting = QatSetting(
        epochs=order.int8_epochs,
        batch=candidate.batch,
        seed=shown.seed,
        scheme=candidate.deployment.scheme,
        max_bytes=candidate.deployment.max_bytes,
    )
    if shown.fold is None:  # then no score tells which epoch is best
        setting = replace(setting, patience=None)
    return train_for_int8(
        graph, samples, setting, finish=lambda graph: plainer(graph)[0], parts=shown.parts
    ).graph


def quantized(candidate: Candidate, graph: Graph, shown: Problem) -> Graph:
    """The graph in integers, without training for them."""
    data = {graph.fed[0]: shown.x[shown.parts[0][:CALIBRATION_SAMPLES]]}
    return plainer(quantize_graph(optimize(graph), data, candidate.deployment.config))[0]
