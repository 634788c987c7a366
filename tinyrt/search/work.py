"""What workers do for a trial; each piece is plain data in, plain data out, and can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from tinyrt.api.costs import EMULATED, Basis, ModelCost, cost
from tinyrt.api.quantize import plainer
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.emulate import toolchain
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.cycles.plugin import COMPILER
from tinyrt.errors import DataError, OutputError, TinyrtError, ToolError
from tinyrt.export import find_core
from tinyrt.files import FULL, scratch_folder
from tinyrt.floatmath.parallel import threads
from tinyrt.memory import schedule
from tinyrt.ops.shared.spec import Array
from tinyrt.search.candidate import (
    Candidate,
    candidate_of,
    graph_of,
    structure_of,
    untrained_int8,
)
from tinyrt.search.problem import Problem
from tinyrt.search.source import SpaceSource
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.losses import cross_entropy, mse_loss
from tinyrt.train.nn import Module
from tinyrt.train.optim import Adam
from tinyrt.train.pipeline.run import train_for_int8
from tinyrt.train.pipeline.samples import Samples
from tinyrt.train.pipeline.setting import QatSetting
from tinyrt.train.recipes.recipe import Training, one_thread

BATCH = 64
"""Samples that answers are computed for at once."""


@dataclass(frozen=True, slots=True)
class Order:
    """A candidate that a worker can build by itself.

    Attributes:
        space: where it comes from.
        params: the trial's choices.
        seed: of its weights, and of the samples' order.
        core: the processor core that it is for.
        epochs: passes over the data in float, on the last rung.
        int8_epochs: passes in training for int8.

    """

    space: SpaceSource
    params: Mapping[str, Any]
    seed: int
    core: str
    epochs: int
    int8_epochs: int

    def candidate(self, problem: Problem) -> Candidate:
        """The untrained candidate; always the same."""
        from optuna.trial import FixedTrial

        return candidate_of(self.space.load(), FixedTrial(dict(self.params)), problem, self.seed)


class Lack(Enum):
    """What a machine lacks for a piece of work that another may do."""

    TOOLS = "a compiler or an emulator"
    ROOM = "room on its disk"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a piece of work came to nothing.

    Attributes:
        reason: in words.
        lacks: what the machine lacks; None where it would fail on any.
        worker: where it was tried.

    """

    reason: str
    lacks: Lack | None = None
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """A candidate as it is before it is built.

    Attributes:
        structure: of its graph; empty without one.
        costs: by formula; None where it cannot be deployed.
        reason: why it cannot.

    """

    structure: str
    costs: ModelCost | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rung:
    """Training up to some epoch.

    Attributes:
        score: share of right answers to the samples to choose by; of values, the mean squared
            error below zero.
        state: the content of the state file, from which training goes on.

    """

    score: float
    state: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Deployed:
    """A trained int8 model.

    Attributes:
        score: of the int8 model on the samples to choose by, greater is better.
        model: the .tflite file.

    """

    score: float
    model: bytes = field(repr=False)


def attempted(work: Callable[..., Any], *arguments: Any) -> Any:
    """What the work gives, or a ``Failure``: whatever goes wrong in a trial is its own."""
    try:
        with _alone():
            return work(*arguments)
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}", _lack(error), _worker())


@contextmanager
def _alone() -> Iterator[None]:
    """One thread: workers are as many as processors."""
    with one_thread(), threads(1):
        yield


class LacksToolsError(ToolError):
    """No compiler or emulator for the core is installed where the work is done."""


def _lack(error: BaseException) -> Lack | None:
    if isinstance(error, LacksToolsError):
        return Lack.TOOLS
    cause = error.__cause__ if isinstance(error, OutputError) else error
    full = isinstance(cause, OSError) and cause.errno in FULL
    return Lack.ROOM if full else None


def _worker() -> str:
    """The Dask worker that this runs in; empty in the process of the search."""
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        return ""
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return ""


def require_tools(core: str, basis: Basis) -> None:
    """Check that this machine can find out costs.

    Raises:
        LacksToolsError: it lacks a compiler or an emulator.

    """
    target = find_core(core)
    programs = [target.compiler, target.archiver, f"{target.prefix}size", "make"]
    if basis in EMULATED:
        programs.append(find_board(target).qemu)
    if basis is Basis.TIMED:
        programs.append(COMPILER)
    try:
        if basis is not Basis.FORMULA:
            toolchain.require(*programs)
            toolchain.require_core(target)
    except ToolError as error:
        raise LacksToolsError(error.problem, expected=error.expected, hint=error.hint) from error


def outlined(order: Order, problem: Problem) -> Outline:
    """Shape and plan: whether the candidate builds, and what it costs by formula."""
    structure = ""
    try:
        graph = graph_of(order.candidate(problem), problem)
        structure = structure_of(graph)
        return Outline(structure, cost(untrained_int8(graph, problem), order.core))
    except TinyrtError as error:
        return Outline(structure, None, f"{type(error).__name__}: {error}")


def price(order: Order, basis: Basis, problem: Problem) -> ModelCost:
    """What the untrained candidate costs."""
    require_tools(order.core, basis)
    graph = graph_of(order.candidate(problem), problem)
    return cost(untrained_int8(graph, problem), order.core, basis=basis)


def price_model(model: bytes, core: str, basis: Basis) -> ModelCost:
    """What a trained model costs, as its file says."""
    require_tools(core, basis)
    with scratch_folder() as folder:
        path = folder / "model.tflite"
        path.write_bytes(model)
        return cost(read_tflite(path), core, basis=basis)


def train(order: Order, epochs: int, state: bytes | None, problem: Problem) -> Rung:
    """Train in float up to some epoch, from the state of an earlier rung, if there is one."""
    candidate = order.candidate(problem)
    with scratch_folder() as folder:
        path = folder / "state.npz"
        if state is not None:
            path.write_bytes(state)
        score = _fit(candidate, order, epochs, problem, path)
        return Rung(score, path.read_bytes())


def _fit(candidate: Candidate, order: Order, epochs: int, problem: Problem, path: Any) -> float:
    rows, held = problem.parts
    network = candidate.network
    whole = Training(order.epochs, candidate.learning_rate, order.epochs // 15, candidate.batch)
    steps = order.epochs * -(-len(rows) // candidate.batch)
    history = fit(
        network,
        Adam(network.parameters(), candidate.learning_rate),
        problem.x[rows],
        problem.y[rows],
        FitConfig(epochs, candidate.batch, progress=False),
        rng=np.random.default_rng([order.seed, 1]),
        loss=_loss(problem),
        # The rate of a step is that of the whole training, however many epochs this rung has.
        lr=lambda step, _: whole.lr(step, steps),
        augment=candidate.augment,
        validate=lambda module: _score(module, problem, held),
        state_file=path,
    )
    return history[epochs - 1].score


def _loss(problem: Problem) -> Callable[[Tensor, Array], Tensor]:
    if problem.has_classes:
        return cross_entropy
    return lambda answers, labels: mse_loss(answers, labels.reshape(answers.shape))


def _score(module: Module, problem: Problem, rows: Array) -> float:
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


def deploy(order: Order, state: bytes, problem: Problem) -> Deployed:
    """Train the candidate of the last rung for int8."""
    candidate = order.candidate(problem)
    with scratch_folder() as folder:
        path = folder / "state.npz"
        path.write_bytes(state)
        _fit(candidate, order, order.epochs, problem, path)  # as it was left
    graph = graph_of(candidate, problem)
    (name,) = graph.answers
    shape = () if problem.has_classes else graph.value(name).shape[1:]
    samples = Samples({graph.fed[0]: problem.x}, {name: problem.y.reshape(len(problem.y), *shape)})
    setting = QatSetting(
        epochs=order.int8_epochs,
        batch=candidate.batch,
        validation=problem.validation,
        seed=problem.seed,
    )
    outcome = train_for_int8(graph, samples, setting, finish=lambda graph: plainer(graph)[0])
    (figures,) = outcome.figures
    better = 1 if problem.has_classes else -1
    return Deployed(better * figures.deployed, bytes(write_tflite(schedule(outcome.graph))))
