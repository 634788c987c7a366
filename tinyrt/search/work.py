"""What workers do for a trial; each piece is plain data in, plain data out, and can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.api.costs import EMULATED, Basis, ModelCost, cost
from tinyrt.api.quantize import plainer
from tinyrt.attached import front_end_entry, pipeline_of
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.dsp import Pipeline
from tinyrt.emulate import toolchain
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.cycles.plugin import COMPILER
from tinyrt.errors import DataError, OutputError, TinyrtError, ToolError
from tinyrt.export import find_core
from tinyrt.export.options import NO_OPTIONS
from tinyrt.files import FULL, scratch_folder
from tinyrt.floatmath.parallel import threads
from tinyrt.ir import Graph
from tinyrt.memory import schedule
from tinyrt.ops.shared.spec import Array
from tinyrt.quantize import quantize_graph
from tinyrt.search.candidate import (
    Candidate,
    Untrained,
    candidate_of,
    graph_of,
    structure_of,
    untrained,
)
from tinyrt.search.problem import Problem
from tinyrt.search.seen import answers_of, recording_of, seen, wanted
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
from tinyrt.train.recipes.stages import CALIBRATION_SAMPLES

BATCH = 64
"""Samples that answers are computed for at once."""

WINDOWS = 3
"""Windows of raw samples that a front end's costs are counted on."""


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
        candidate = order.candidate(problem)
        structure = structure_of(graph_of(candidate, problem), candidate)
        made = untrained(candidate, problem)
        return Outline(structure, costed(made, candidate, order.core, None, problem))
    except TinyrtError as error:
        return Outline(structure, None, f"{type(error).__name__}: {error}")


def price(order: Order, basis: Basis, problem: Problem) -> ModelCost:
    """What the untrained candidate costs."""
    require_tools(order.core, basis)
    candidate = order.candidate(problem)
    return costed(untrained(candidate, problem), candidate, order.core, basis, problem)


def price_model(model: bytes, order: Order, basis: Basis, problem: Problem) -> ModelCost:
    """What a trained model costs, as its file says."""
    require_tools(order.core, basis)
    with scratch_folder() as folder:
        path = folder / "model.tflite"
        path.write_bytes(model)
        made = Untrained(read_tflite(path), pipeline_of(path))
    return costed(made, order.candidate(problem), order.core, basis, problem)


def costed(
    made: Untrained, candidate: Candidate, core: str, basis: Basis | None, problem: Problem
) -> ModelCost:
    """What it costs, with what stands before it, on raw samples of training; None by formula."""
    more: dict[str, Any] = {} if basis is None else {"basis": basis}
    if candidate.deployment.options != NO_OPTIONS:
        more["options"] = candidate.deployment.options
    if made.pipeline is not None:
        rows = np.sort(problem.parts[0])[:WINDOWS]
        more |= {"front_end": made.pipeline, "recording": recording_of(problem.x[rows])}
    return cost(made.graph, core, **more)


def train(order: Order, epochs: int, state: bytes | None, problem: Problem) -> Rung:
    """Train in float up to some epoch, from the state of an earlier rung, if there is one."""
    candidate = order.candidate(problem)
    shown, _ = seen(candidate.front_end, problem)
    with scratch_folder() as folder:
        path = folder / "state.npz"
        if state is not None:
            path.write_bytes(state)
        score = _fit(candidate, order, epochs, shown, path)
        return Rung(score, path.read_bytes())


def _fit(candidate: Candidate, order: Order, epochs: int, problem: Problem, path: Any) -> float:
    """Train up to some epoch, and score; samples are those that the network sees."""
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
    """Train the candidate of the last rung for its integers, or quantise it as it is."""
    candidate = order.candidate(problem)
    shown, pipeline = seen(candidate.front_end, problem)
    with scratch_folder() as folder:
        path = folder / "state.npz"
        path.write_bytes(state)
        _fit(candidate, order, order.epochs, shown, path)  # as it was left
        graph = graph_of(candidate, problem)
        if candidate.deployment.preset is None:
            final, score = _trained_for_integers(candidate, graph, order, shown)
        else:
            final, score = _quantized(candidate, graph, shown), None
        model = bytes(write_tflite(schedule(final), front_end_entry(pipeline)))
        if score is None or pipeline is not None:
            score = _answered(model, folder / "model.tflite", pipeline, problem)
    return Deployed(score, model)


def _trained_for_integers(
    candidate: Candidate, graph: Graph, order: Order, shown: Problem
) -> tuple[Graph, float]:
    """The graph trained for int8 or int4, and its score on the samples to choose by."""
    (name,) = graph.answers
    shape = () if shown.has_classes else graph.value(name).shape[1:]
    samples = Samples({graph.fed[0]: shown.x}, {name: shown.y.reshape(len(shown.y), *shape)})
    setting = QatSetting(
        epochs=order.int8_epochs,
        batch=candidate.batch,
        validation=shown.validation,
        seed=shown.seed,
        scheme=candidate.deployment.scheme,
        max_bytes=candidate.deployment.max_bytes,
    )
    outcome = train_for_int8(graph, samples, setting, finish=lambda graph: plainer(graph)[0])
    (figures,) = outcome.figures
    return outcome.graph, (1 if shown.has_classes else -1) * figures.deployed


def _quantized(candidate: Candidate, graph: Graph, shown: Problem) -> Graph:
    """The graph in integers, without training for them."""
    data = {graph.fed[0]: shown.x[shown.parts[0][:CALIBRATION_SAMPLES]]}
    return plainer(quantize_graph(optimize(graph), data, candidate.deployment.config))[0]


def _answered(model: bytes, path: Path, pipeline: Pipeline | None, problem: Problem) -> float:
    """The score of a model's file on the samples to choose by, as they were given."""
    path.write_bytes(model)
    held = problem.parts[1]
    right = wanted(pipeline, problem)[held]
    return figure(answers_of(path, problem.x[held]), right, problem)
