"""A point of a space: front end, network and deployment; as a graph, and as what is deployed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tinyrt.api.costs import BY_WEIGHTS, told_apart
from tinyrt.convert.passes import optimize
from tinyrt.dsp import Pipeline, Vision
from tinyrt.dsp.windows import FrontEnd
from tinyrt.errors import DataError, ShapeError, UnsupportedError
from tinyrt.ir import Graph
from tinyrt.memory import schedule
from tinyrt.search.deployment import IN_INT8, Deployment
from tinyrt.search.problem import Problem
from tinyrt.search.seen import calibrating
from tinyrt.train.early_exit import EarlyExit
from tinyrt.train.fit import Augment, Loss
from tinyrt.train.nn import Module, Sequential, Softmax
from tinyrt.train.tracing import trace

if TYPE_CHECKING:
    from optuna.trial import BaseTrial


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A network, how it is trained, what stands before it, and what becomes of it.

    Attributes:
        network: (batch, ...) to a score of each class, or to values; an ``EarlyExit`` has scores
            of two heads, and is deployed as a cascade.
        learning_rate: greatest learning rate in float.
        batch: samples per step.
        augment: changes samples before each use: features, behind a front end.
        front_end: makes features of raw samples, or images of a camera's frames, which the network
            takes in the shape that ``Problem.behind`` says; None for samples as they are.
        deployment: how it becomes integers and code.
        loss: of outputs and labels, in float; by default cross entropy of classes, and the mean
            squared error of values.

    """

    network: Module
    learning_rate: float = 1e-2
    batch: int = 32
    augment: Augment | None = None
    front_end: FrontEnd | None = None
    deployment: Deployment = IN_INT8
    loss: Loss | None = None


Space = Callable[["BaseTrial", Problem, np.random.Generator], Module | Candidate]
"""A trial to choose by, what it is for, and what draws the weights -> a candidate."""


def candidate_of(space: Space, trial: BaseTrial, problem: Problem, seed: int) -> Candidate:
    """The space's candidate at a trial's choices.

    Raises:
        DataError: the space gives something else.

    """
    made = space(trial, problem, np.random.default_rng(seed))
    candidate = Candidate(made) if isinstance(made, Module) else made
    if not isinstance(candidate, Candidate):
        raise DataError(
            f"the space gives {type(made).__name__}",
            expected="a network of tinyrt.train, or a tinyrt.search.Candidate",
        )
    return candidate


def graph_of(candidate: Candidate, problem: Problem) -> Graph:
    """The float graph that is deployed: classes have a softmax behind the network.

    Raises:
        ShapeError: the network does not take the samples, or gives other numbers than it should; or
            the front end does not take them.
        UnsupportedError: it cannot be traced.

    """
    network, view = candidate.network, problem.behind(candidate.front_end)
    if isinstance(network, EarlyExit):
        _require_exit(candidate, problem)
        graph = trace(network, view.input_shape, outputs=network.both)
    else:
        whole = Sequential(network=network, softmax=Softmax()) if problem.has_classes else network
        graph = trace(whole, view.input_shape)
    for output in (graph.value(name) for name in graph.outputs):
        if output.size == view.outputs:
            continue
        raise ShapeError(
            f"the network gives {output.size} numbers for a sample",
            tensor=output.describe(),
            expected=f"{view.outputs}, as the labels say",
        )
    return graph


def _require_exit(candidate: Candidate, problem: Problem) -> None:
    """Refuse an early exit where it cannot answer."""
    deployment = candidate.deployment
    plain = replace(IN_INT8, preset=deployment.preset, calibrator=deployment.calibrator)
    if not problem.has_classes or candidate.front_end is not None or deployment != plain:
        raise UnsupportedError(
            "an early exit of this candidate",
            expected="samples with classes, no front end, and int8 scores of all layers",
            hint="a Deployment of scheme int8, without scheme_for, max_bytes and by_rows",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Untrained:
    """What a candidate would deploy before training.

    Attributes:
        graph: in integers, with all its channels.
        pipeline: the front end before it; its scales are those of a few samples.
        threshold: of a trained model with an early exit.

    """

    graph: Graph
    pipeline: Pipeline | Vision | None
    threshold: int | None = None


def untrained(candidate: Candidate, problem: Problem) -> Untrained:
    """The candidate in integers before training, with all its channels: trained, it costs no more.

    Channels that random weights leave without effect stay: training may bring them to life.

    Raises:
        BudgetError: no mix of schemes holds the bytes that it is to have.
        DataError: a front end does not take the samples.
        ShapeError: as ``graph_of``.
        UnsupportedError: something in it cannot be computed in integers.

    """
    plain = told_apart(optimize(graph_of(candidate, problem), skip=BY_WEIGHTS))
    x, pipeline = calibrating(candidate.front_end, problem)
    return Untrained(schedule(candidate.deployment.untrained(plain, x)), pipeline)


def structure_of(graph: Graph, candidate: Candidate) -> str:
    """Hexadecimal digits that candidates share that cost the same.

    Their graphs have the same ops, attributes, shapes and edges; front end and deployment are the
    same.
    """
    total = hashlib.sha256()
    if (candidate.front_end, candidate.deployment) != (None, IN_INT8):
        total.update(f"{candidate.front_end} {candidate.deployment}\n".encode())
    for node in graph.bound():
        types = [str(value and value.type) for value in (*node.inputs, *node.outputs)]
        edges = [name for name in graph.nodes[node.index].inputs if name]
        total.update(f"{node.op} {node.attrs} {types} {edges}\n".encode())
    return total.hexdigest()[:24]
