"""A candidate's way: shape, plan, cost, training in rungs, int8; the cheapest refusal first."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyrt.api.costs import ModelCost
from tinyrt.cluster.tasks import Failure, Task
from tinyrt.errors import TinyrtError
from tinyrt.files import write_bytes
from tinyrt.search.candidate import candidate_of
from tinyrt.search.deployment import Deployment
from tinyrt.search.learning import Verdict
from tinyrt.search.order import Order
from tinyrt.search.problem import Problem
from tinyrt.search.setting import COSTS, SearchSetting
from tinyrt.search.source import SpaceSource
from tinyrt.search.store import BEGUN, End, Record, Store
from tinyrt.search.work import (
    Deployed,
    Outline,
    Rung,
    deploy,
    deploy_on,
    hold_limit,
    outlined,
    price,
    price_model,
    train,
    train_from,
)

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial, Trial

Course = Generator[Task, Any, "Ended"]
"""A trial on its way: it asks for a task, is sent what came of it, and ends."""

KNOWN = ("arena", "weights", "code", "flash", "instructions", "cycles")
"""Figures of a cost that are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """What became of a trial, and the objectives of one that is in the running."""

    record: Record
    values: list[float] | None = None


class _RefusedError(Exception):
    """A trial comes to its end before it is trained to the end."""

    def __init__(self, record: Record) -> None:
        super().__init__(record.reason)
        self.record = record


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """What training starts from.

    Attributes:
        weights: the content of a file of shared weights.
        rate: greatest learning rate that they were trained with.

    """

    weights: bytes
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class Funnel:
    """What all trials have in common.

    Attributes:
        space: where candidates come from.
        problem: what they are for.
        setting: the user's choices.
        store: the study.
        folder: where models, and the states of trials under way, are kept.
        start: what training starts from; None for weights as they are drawn.

    """

    space: SpaceSource
    problem: Problem
    setting: SearchSetting
    store: Store
    folder: Path
    start: Start | None = None

    def ask(self) -> Trial:
        """The next one proposed."""
        return self.store.study.ask()

    def choices_of(self, trial: Trial | FrozenTrial) -> dict[str, Any]:
        """The choices of a trial that its candidate asks for."""
        from optuna.trial import FixedTrial

        fixed = FixedTrial(dict(trial.params))
        candidate_of(self.space.load(), fixed, self.problem, self._seed(trial))
        return dict(fixed.params)

    def course(self, trial: Trial) -> Course:
        """The way of a trial, from where an earlier run left it."""
        try:
            return (yield from self._steps(trial))
        except _RefusedError as refused:
            return Ended(refused.record)

    def model_file(self, number: int) -> Path:
        """The trained model of a trial."""
        return self.folder / f"{number:05}.tflite"

    def state_file(self, number: int) -> Path:
        """Where a trial's training stands."""
        return self.folder / f"{number:05}.state.npz"

    def deployment(self, trial: FrozenTrial) -> Deployment:
        """How the model of a trial becomes code."""
        return self._order(trial).candidate(self.problem).deployment

    def _steps(self, trial: Trial) -> Course:
        self._require_new(trial)
        _require_begun(trial)
        order = self._order(trial)
        record = yield from self._shaped(trial, order)
        record = yield from self._priced(trial, order, record)
        state = yield from self._trained(trial, order, record)
        record = replace(record, stage="int8")
        deployed = yield from self._deployed(order, state, record)
        deployed, final = yield from self._counted(deployed, order, record)
        record = replace(record, costs=_figures(final), basis=final.basis.value)
        self._require(record, End.MISFIT)
        path = self.model_file(trial.number)
        write_bytes(path, deployed.model)
        found, costs = deployed.verdict, record.costs or {}
        record = replace(record, end=End.TRAINED, score=found.score, loss=found.loss)
        values = [found.quality, *(costs[name] for name in self.setting.traded)]
        return Ended(record, values)

    def _counted(
        self, deployed: Deployed, order: Order, record: Record
    ) -> Generator[Task, Any, tuple[Deployed, ModelCost]]:
        """What the trained model costs; with an early exit, as many leave as the limit asks for."""
        basis, limit = self.setting.basis, self.setting.budget.instructions
        task = Task(price_model, (deployed.model, order, basis), builds=True)
        final: ModelCost = yield from done(task, record)
        if deployed.leaves and limit is not None and (final.instructions or 0) > limit:
            task = Task(hold_limit, (deployed, order, basis, limit), builds=True)
            deployed, final = yield from done(task, record)
        return deployed, final

    def _order(self, trial: Trial | FrozenTrial) -> Order:
        setting = self.setting
        return Order(
            self.space,
            dict(trial.params),
            self._seed(trial),
            setting.budget.core,
            setting.epochs,
            setting.final_epochs,
            None if self.start is None else self.start.rate,
        )

    def _seed(self, trial: Trial | FrozenTrial) -> int:
        sequence = np.random.SeedSequence([self.setting.seed, trial.number])
        return int(sequence.generate_state(1)[0])

    def _shaped(self, trial: Trial, order: Order) -> Generator[Task, Any, Record]:
        """Shape and plan: whether the candidate builds, and what it costs by formula."""
        record = Record(End.FAILED, "shape")
        outline: Outline = yield from done(Task(outlined, (order,)), record)
        record = replace(record, structure=outline.structure)
        if outline.costs is None:
            raise _RefusedError(replace(record, end=End.REFUSED, reason=outline.reason))
        known = outline.costs
        figures = _figures(known)
        record = replace(record, stage="plan", costs=figures, basis=known.basis.value)
        self._judge(trial, record, least_costs(known))
        return record

    def _require_new(self, trial: Trial) -> None:
        """Have the space choose, and refuse choices that an earlier trial had."""
        try:
            candidate_of(self.space.load(), trial, self.problem, self._seed(trial))
        except Exception as error:  # the user's function may raise anything
            end = End.REFUSED if isinstance(error, TinyrtError) else End.FAILED
            reason = f"{type(error).__name__}: {error}"
            raise _RefusedError(Record(end, "shape", reason)) from error
        other = self.store.number_of(trial.params)
        if other is not None:
            reason = f"trial {other} has the same choices"
            raise _RefusedError(Record(End.REPEATED, "shape", reason))

    def _priced(self, trial: Trial, order: Order, record: Record) -> Generator[Task, Any, Record]:
        """Costs as built, linked and counted; known already where a trial has the same graph."""
        setting = self.setting
        record = replace(record, stage="cost")
        figures = self.store.costs.get(record.structure)
        if figures is None:
            task = Task(price, (order, setting.basis), builds=True)
            built: ModelCost = yield from done(task, record)
            figures = _figures(built)
            self.store.costs[record.structure] = figures
        record = replace(record, costs=figures, basis=setting.basis.value)
        self._judge(trial, record, {name: figures[name] for name in COSTS if name in figures})
        return record

    def _judge(self, trial: Trial, record: Record, costs: dict[str, int]) -> None:
        """Tell the sampler how far costs are from the limits, and refuse what is beyond."""
        limits = self.setting.budget.limits
        excess = {n: costs[n] / limit - 1 for n, limit in limits.items() if n in costs}
        if record.stage == "cost" or max(excess.values(), default=0) > 0:
            for name, share in excess.items():
                if name not in trial.constraints:
                    trial.set_constraint(name, share)
        self._require(record, End.REFUSED, costs)

    def _require(self, record: Record, end: End, costs: dict[str, int] | None = None) -> None:
        """Refuse costs beyond the limits."""
        spent = dict(record.costs or {}) if costs is None else costs
        if reasons := beyond(spent, self.setting.budget.limits):
            raise _RefusedError(replace(record, end=end, reason=", ".join(reasons)))

    def _trained(self, trial: Trial, order: Order, record: Record) -> Generator[Task, Any, bytes]:
        """Training in float from rung to rung; the state after the last one."""
        record, path = replace(record, stage="training"), self.state_file(trial.number)
        ladder = self.store.ladder(trial.number)
        # Without a score the state may be of another study, whose file is gone.
        state = path.read_bytes() if ladder.seen and path.exists() else None
        # Scores without a state are of a training that must begin again.
        passed = set(ladder.seen) if state is not None else set()
        for step, epochs in zip(self.setting.steps, self.setting.rungs, strict=True):
            if step in passed:
                continue
            result = yield self._training(order, epochs, state)
            if isinstance(result, Failure):
                ladder.end(failed=True)
                raise _RefusedError(replace(record, end=End.FAILED, reason=result.reason))
            rung: Rung = result
            state = rung.state
            write_bytes(path, state)
            is_last = epochs == self.setting.epochs and self.setting.folds == 1
            if ladder.stops(rung.score, step) and not is_last:
                ladder.end()
                reason = f"score {rung.score:.4g} after {epochs} epochs"
                raise _RefusedError(replace(record, end=End.STOPPED, reason=reason))
        ladder.end()
        assert state is not None, "there is a rung at least"
        return state

    def _training(self, order: Order, epochs: int, state: bytes | None) -> Task:
        if self.start is None:
            return Task(train, (order, epochs, state))
        return Task(train_from, (order, epochs, state, self.start.weights))

    def _deployed(
        self, order: Order, state: bytes, record: Record
    ) -> Generator[Task, Any, Deployed]:
        """The model in integers; with folds, of all samples, and judged by each it had not seen."""
        first: Deployed = yield from done(Task(deploy, (order, state)), record)
        if self.setting.folds == 1:
            return first
        parts = [first]
        for fold in range(1, self.setting.folds):
            parts.append((yield from done(Task(deploy_on, (order, fold)), record)))
        whole: Deployed = yield from done(Task(deploy_on, (order, None)), record)
        each = [(p.verdict.score, p.verdict.loss) for p in parts]
        score, loss = np.average(each, axis=0, weights=[p.held for p in parts])
        return replace(whole, verdict=Verdict(float(score), float(loss)))


def _require_begun(trial: Trial) -> None:
    """Refuse choices that a trial is to begin with, and that the space does not have."""
    asked, begun = trial.distributions, trial.user_attrs.get(BEGUN, {})
    odd = {name: value for name, value in begun.items() if name not in asked}
    for name in begun.keys() & asked.keys():
        if not asked[name]._contains(asked[name].to_internal_repr(begun[name])):
            odd[name] = begun[name]
    if odd:
        told = ", ".join(f"{name} {value}" for name, value in odd.items())
        reason = f"it was to begin with {told}, which the space does not choose"
        raise _RefusedError(Record(End.FAILED, "shape", reason))


def done(task: Task, record: Record) -> Generator[Task, Any, Any]:
    """What comes of a task; a failure ends the trial."""
    result = yield task
    if isinstance(result, Failure):
        raise _RefusedError(replace(record, end=End.FAILED, reason=result.reason))
    return result


def least_costs(known: ModelCost) -> dict[str, int]:
    """What a candidate costs at least, as it is told by formula."""
    least = {"arena": known.arena, "flash": known.weights}
    if known.least_instructions is not None:
        least["instructions"] = known.least_instructions
    return least


def beyond(costs: Mapping[str, int], limits: Mapping[str, int]) -> list[str]:
    """Which costs are beyond the limits, in words."""
    return [
        f"{name} {costs[name]:,} of {limit:,}"
        for name, limit in limits.items()
        if costs.get(name, 0) > limit
    ]


def _figures(known: ModelCost) -> dict[str, int]:
    figures = known.as_dict()
    return {name: figures[name] for name in KNOWN if figures[name] is not None}
