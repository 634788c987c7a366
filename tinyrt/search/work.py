"""What workers do for a trial; each piece is plain data in, plain data out, and can be repeated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.api.costs import EMULATED, Basis, ModelCost, cost
from tinyrt.attached import front_end_entry, front_end_of
from tinyrt.cluster.tasks import LacksToolsError
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.dsp import Pipeline, Vision
from tinyrt.emulate import toolchain
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.cycles.plugin import COMPILER
from tinyrt.errors import DataError, TinyrtError, ToolError
from tinyrt.export import find_core
from tinyrt.export.options import NO_OPTIONS
from tinyrt.files import scratch_folder
from tinyrt.memory import schedule
from tinyrt.search.candidate import (
    Candidate,
    Untrained,
    graph_of,
    structure_of,
    untrained,
)
from tinyrt.search.exits import exit_cost, threshold_of, with_threshold, within_limit
from tinyrt.search.learning import (
    Verdict,
    fit_candidate,
    quantized,
    trained_for_integers,
    verdict,
)
from tinyrt.search.order import Order
from tinyrt.search.problem import Problem
from tinyrt.search.seen import answers_of, recording_of, seen, wanted
from tinyrt.search.supernet import inherit
from tinyrt.train.early_exit import EarlyExit

WINDOWS = 3
"""Windows of raw samples that a front end's costs are counted on."""


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
        verdict: on the int8 model's answers to the samples to choose by.
        held: how many samples these are.
        model: the .tflite file.
        leaves: whether it has an early exit.

    """

    verdict: Verdict
    held: int
    model: bytes = field(repr=False)
    leaves: bool = False


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
        made = Untrained(read_tflite(path), front_end_of(path), threshold_of(path))
    return costed(made, order.candidate(problem), order.core, basis, problem)


def hold_limit(
    deployed: Deployed, order: Order, basis: Basis, limit: int, problem: Problem
) -> tuple[Deployed, ModelCost]:
    """Have as many samples leave early as a limit of instructions asks for; what that costs."""
    require_tools(order.core, basis)
    held = problem.parts[1]
    with scratch_folder() as folder:
        path = folder / "model.tflite"
        path.write_bytes(deployed.model)
        graph = read_tflite(path)
        given = graph, limit, order.core, basis, problem.x[held], problem.y[held]
        model, known = within_limit(*given)
        judged = _judged(model, path, None, problem)
    return replace(deployed, verdict=judged, model=model), known


def costed(
    made: Untrained, candidate: Candidate, core: str, basis: Basis | None, problem: Problem
) -> ModelCost:
    """What it costs, with what stands before it, on raw samples of training; None by formula."""
    if isinstance(candidate.network, EarlyExit):
        return exit_cost(made.graph, made.threshold, core, basis, problem.x[problem.parts[1]])
    more: dict[str, Any] = {} if basis is None else {"basis": basis}
    if candidate.deployment.options != NO_OPTIONS:
        more["options"] = candidate.deployment.options
    if made.pipeline is not None:
        rows = np.sort(problem.parts[0])[:WINDOWS]
        more |= {"front_end": made.pipeline, "recording": recording_of(problem.x[rows], problem)}
    return cost(made.graph, core, **more)


def train(order: Order, epochs: int, state: bytes | None, problem: Problem) -> Rung:
    """Train in float up to some epoch, from the state of an earlier rung, if there is one."""
    return train_from(order, epochs, state, None, problem)


def train_from(
    order: Order, epochs: int, state: bytes | None, weights: bytes | None, problem: Problem
) -> Rung:
    """As ``train``; without a state, from the slices of shared weights."""
    candidate = order.candidate(problem)
    shown, _ = seen(candidate.front_end, problem)
    with scratch_folder() as folder:
        path = folder / "state.npz"
        if state is not None:
            path.write_bytes(state)
        elif weights is not None:
            inherit(candidate, weights, shown)
        score = fit_candidate(candidate, order, epochs, shown, path)
        return Rung(score, path.read_bytes())


def deploy_on(order: Order, fold: int | None, problem: Problem) -> Deployed:
    """Train the candidate from its beginning on other samples; None for all there are."""
    return deploy(order, None, replace(problem, fold=fold))


def deploy(order: Order, state: bytes | None, problem: Problem) -> Deployed:
    """Train the candidate of the last rung for its integers, or quantise it as it is."""
    candidate = order.candidate(problem)
    leaves = isinstance(candidate.network, EarlyExit)
    if leaves and problem.fold != 0:
        raise DataError(
            "an early exit's threshold is chosen by samples that are held out",
            expected="one fold, by which it is chosen and judged",
            hint="leave out --folds",
        )
    shown, pipeline = seen(candidate.front_end, problem)
    with scratch_folder() as folder:
        path = folder / "state.npz"
        if state is not None:
            path.write_bytes(state)
        fit_candidate(candidate, order, order.epochs, shown, path)  # as it was left
        graph = graph_of(candidate, problem)
        if candidate.deployment.preset is None:
            graph = trained_for_integers(candidate, graph, order, shown)
        else:
            graph = quantized(candidate, graph, shown)
        final, held = schedule(graph), problem.parts[1]
        if leaves:
            model = with_threshold(final, problem.x[held], problem.y[held])
        else:
            model = bytes(write_tflite(final, front_end_entry(pipeline)))
        judged = _judged(model, folder / "model.tflite", pipeline, problem)
    return Deployed(judged, len(held), model, leaves)


def _judged(
    model: bytes, path: Path, pipeline: Pipeline | Vision | None, problem: Problem
) -> Verdict:
    """How good the answers of a model's file are to the samples to choose by, as given."""
    path.write_bytes(model)
    held = problem.parts[1]
    right = wanted(pipeline, problem)[held]
    return verdict(answers_of(path, problem.x[held]), right, problem)
