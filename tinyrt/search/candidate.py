"""A point of a space: a network and how it is trained; as a graph, and as what is deployed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tinyrt.api.costs import BY_WEIGHTS
from tinyrt.convert.passes import optimize
from tinyrt.errors import DataError, ShapeError
from tinyrt.ir import Graph
from tinyrt.memory import schedule
from tinyrt.search.problem import Problem
from tinyrt.train.fit import Augment
from tinyrt.train.nn import Module, Sequential, Softmax
from tinyrt.train.qat import QatModel
from tinyrt.train.recipes.stages import CALIBRATION_SAMPLES
from tinyrt.train.tracing import trace

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

NAME = "model"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A network, and how it is trained.

    Attributes:
        network: (batch, ...) to a score of each class, or to values.
        learning_rate: greatest learning rate in float.
        batch: samples per step.
        augment: changes samples before each use.

    """

    network: Module
    learning_rate: float = 1e-2
    batch: int = 32
    augment: Augment | None = None


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
        ShapeError: the network does not take the samples, or gives other numbers than it should.
        UnsupportedError: it cannot be traced.

    """
    network = candidate.network
    whole = Sequential(network=network, softmax=Softmax()) if problem.has_classes else network
    graph = trace(whole, problem.input_shape, name=NAME)
    (output,) = (graph.value(name) for name in graph.outputs)
    if output.size != problem.outputs:
        raise ShapeError(
            f"the network gives {output.size} numbers for a sample",
            tensor=output.describe(),
            expected=f"{problem.outputs}, as the labels say",
        )
    return graph


def untrained_int8(graph: Graph, problem: Problem) -> Graph:
    """The int8 graph before training, with all its channels: trained, it costs no more.

    Channels that random weights leave without effect stay: training may bring them to life.

    Raises:
        UnsupportedError: something in it cannot be computed in integers.

    """
    plain = optimize(graph, skip=BY_WEIGHTS)
    rows = problem.parts[0][:CALIBRATION_SAMPLES]
    model = QatModel(plain, {plain.fed[0]: problem.x[rows]})
    return schedule(model.deployed())


def structure_of(graph: Graph) -> str:
    """Hexadecimal digits that graphs of the same ops, attributes, shapes and edges share."""
    total = hashlib.sha256()
    for node in graph.bound():
        types = [str(value and value.type) for value in (*node.inputs, *node.outputs)]
        edges = [name for name in graph.nodes[node.index].inputs if name]
        total.update(f"{node.op} {node.attrs} {types} {edges}\n".encode())
    return total.hexdigest()[:24]
