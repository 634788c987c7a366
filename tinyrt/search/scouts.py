"""Scouts: candidates that are judged by shared weights, before any is trained by itself.

A pool of candidates that fit trains weights that they share. Then evolution (NSGA-II, Deb et al.
2002) proposes others, each judged as it inherits its weights, at its exact costs. Those that no
other beats in everything are the first that are trained on, from the weights that they inherit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyrt.cluster.tasks import Failure, Task
from tinyrt.cluster.workers import Workers
from tinyrt.errors import DataError
from tinyrt.files import write_bytes
from tinyrt.search.candidate import candidate_of
from tinyrt.search.funnel import Course, Ended, Funnel, Start, beyond, done, least_costs
from tinyrt.search.order import Order
from tinyrt.search.run import OnTrial, Run
from tinyrt.search.store import SCOUTS, End, Store, optuna_there
from tinyrt.search.supernet import judge, train_shared, trained_epochs
from tinyrt.search.work import Outline, outlined

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

POOL = 48
"""Candidates that train the shared weights."""

DRAWN = 2_000
"""Candidates that are drawn at most until so many fit."""

POPULATION = 40
"""Scouts of a generation; a quarter of all at most."""

CHUNKS = 8
"""How often the shared weights are written while they are trained."""

WEIGHTS = "shared.npz"
"""Name of the weights in the folder of trained models."""

MEMBERS, RATE, CHOICES, CHOSEN = "pool", "rate", "choices", "chosen"
"""Names of what the study is given."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What the shared weights are trained by.

    Attributes:
        members: choices of each.
        rate: greatest learning rate of all that shares weights: the middle one of the members.
        choices: name -> what it is chosen from, of all choices that some member has.

    """

    members: Sequence[Mapping[str, Any]]
    rate: float
    choices: Mapping[str, BaseDistribution]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scouting(Funnel):
    """The way of scouts: shape, plan, cost, and a look with shared weights.

    Attributes:
        choices: what evolution mixes: also choices that sleep, as a network has fewer layers.

    """

    choices: Mapping[str, BaseDistribution]

    def ask(self) -> Trial:
        """See ``Funnel``."""
        return self.store.study.ask(dict(self.choices))

    def _steps(self, trial: Trial) -> Course:
        self._require_new(trial)
        order, start = self._order(trial), self.start
        assert start is not None, "scouts have shared weights"
        record = yield from self._shaped(trial, order)
        if record.structure in self.store.costs:
            reason = "an earlier scout has the same network"
            return Ended(replace(record, end=End.REPEATED, reason=reason))
        record = yield from self._priced(trial, order, record)
        record = replace(record, stage="scout")
        score: float = yield from done(Task(judge, (order, start.weights)), record)
        costs = record.costs or {}
        values = [score, *(costs[name] for name in self.setting.traded)]
        return Ended(replace(record, end=End.SCORED, score=score), values)


def scouted(funnel: Funnel, crew: Workers, on_trial: OnTrial) -> tuple[Funnel, Store]:
    """Send scouts, and propose those first that no other beats.

    Args:
        funnel: of the trials that follow.
        crew: who does the work.
        on_trial: as for ``Run``.

    Returns:
        The funnel of trials that start from the shared weights, and the study of the scouts.

    Raises:
        DataError: no candidate fits, the weights cannot be trained, or their file is damaged.

    """
    setting = funnel.setting
    store = funnel.store.beside(SCOUTS, setting.directions, _evolution(setting.scouts))
    known = MEMBERS in store.study.user_attrs
    pool = _kept(store) if known else _keep(_pooled(funnel, crew), store, setting.scouts)
    start = Start(_shared(funnel, crew, pool, go_on=known), pool.rate)
    scouting = Scouting(
        *(funnel.space, funnel.problem, replace(setting, trials=setting.scouts), store),
        funnel.folder,
        start,
        choices=pool.choices,
    )
    Run(scouting, crew, on_trial).all()
    funnel.store.costs.update(store.costs)
    _propose(scouting, funnel.store, setting.trials)
    return replace(funnel, start=start), store


def _population(scouts: int) -> int:
    return max(2, min(POPULATION, scouts // 4))


def _evolution(scouts: int) -> Any:
    """What makes a sampler of a seed."""
    sampler = optuna_there().samplers.NSGAIISampler
    return lambda seed: sampler(population_size=_population(scouts), seed=seed)


def _pooled(funnel: Funnel, crew: Workers) -> Pool:
    """Candidates at random that fit by formula.

    Raises:
        DataError: there are none.

    """
    drawn = list(islice(_fitting(funnel, crew), POOL))
    if not drawn:
        raise DataError(
            f"of {DRAWN:,} candidates that were drawn none fits",
            expected="some that can share weights",
            hint="give wider limits, or search without --share, which says of each why",
        )
    choices: dict[str, BaseDistribution] = {}
    for trial, _ in drawn:
        choices |= trial.distributions
    # What is chosen from other values here and there is chosen where it is asked for.
    varied = {n for t, _ in drawn for n, of in t.distributions.items() if of != choices[n]}
    choices = {name: of for name, of in choices.items() if name not in varied}
    rate = float(np.median([rate for _, rate in drawn]))
    return Pool([trial.params for trial, _ in drawn], rate, choices)


def _fitting(funnel: Funnel, crew: Workers) -> Iterator[tuple[Trial, float]]:
    """Trials at random whose candidates fit, with their learning rates."""
    drawn, limits = _drawn(funnel), funnel.setting.budget.limits
    while some := list(islice(drawn, crew.slots)):
        tasks = [Task(outlined, (_member(funnel, trial.params, 0, None),)) for trial, _ in some]
        for (trial, rate), outline in zip(some, _all(crew, tasks), strict=True):
            if not isinstance(outline, Outline) or outline.costs is None:
                continue
            if not beyond(least_costs(outline.costs), limits):
                yield trial, rate


def _drawn(funnel: Funnel) -> Iterator[tuple[Trial, float]]:
    """Trials at random, and the learning rates of their candidates."""
    optuna = optuna_there()
    sampler = optuna.samplers.RandomSampler(seed=funnel.setting.seed)
    study = optuna.create_study(sampler=sampler)
    space = funnel.space.load()
    for _ in range(DRAWN):
        trial = study.ask()
        try:
            candidate = candidate_of(space, trial, funnel.problem, 0)
        except Exception:  # the user's function may raise anything; a scout with it is listed
            continue
        yield trial, candidate.learning_rate


def _member(funnel: Funnel, params: Mapping[str, Any], seed: int, rate: float | None) -> Order:
    """A candidate of the pool, which is trained for as long as weights are shared."""
    setting = funnel.setting
    return Order(
        *(funnel.space, dict(params), seed, setting.budget.core),
        *(setting.share, setting.final_epochs),
        rate,
    )


def _shared(funnel: Funnel, crew: Workers, pool: Pool, *, go_on: bool) -> bytes:
    """The shared weights, from where an earlier run left them.

    Raises:
        DataError: they cannot be trained, or their file is damaged.

    """
    path, total = funnel.folder / WEIGHTS, funnel.setting.share
    orders = [_member(funnel, params, i, pool.rate) for i, params in enumerate(pool.members)]
    state = path.read_bytes() if go_on and path.exists() else None
    epochs = 0 if state is None else trained_epochs(path)
    while state is None or epochs < total:
        epochs = min(total, epochs + -(-total // CHUNKS))
        (result,) = _all(crew, [Task(train_shared, (orders, epochs, state))])
        if isinstance(result, Failure):
            raise DataError(
                f"the shared weights cannot be trained: {result.reason}",
                hint="search without --share, or mend what is said",
            )
        state = bytes(result)
        write_bytes(path, state)
    return state


def _keep(pool: Pool, store: Store, scouts: int) -> Pool:
    """Write the pool to the study, and propose its members as the first generation."""
    from optuna.distributions import distribution_to_json

    for params in pool.members[: _population(scouts)]:
        store.study.enqueue_trial(dict(params))
    choices = {name: distribution_to_json(of) for name, of in pool.choices.items()}
    for name, value in ((CHOICES, choices), (RATE, pool.rate), (MEMBERS, pool.members)):
        store.study.set_user_attr(name, value)
    return pool


def _kept(store: Store) -> Pool:
    from optuna.distributions import json_to_distribution

    known = store.study.user_attrs
    choices = {name: json_to_distribution(of) for name, of in known[CHOICES].items()}
    return Pool(known[MEMBERS], known[RATE], choices)


def _propose(scouting: Scouting, store: Store, number: int) -> None:
    """Have trials begin with so many scouts of the front, from its best to its cheapest."""
    study = scouting.store.study
    if CHOSEN not in study.user_attrs:
        front = sorted(study.best_trials, key=lambda trial: (-trial.values[0], trial.values[1:]))
        every = np.unique(np.linspace(0, len(front) - 1, min(number, len(front))).round())
        study.set_user_attr(CHOSEN, [scouting.choices_of(front[int(i)]) for i in every])
    # They are the first trials: a search that was killed here goes on with the next.
    for params in study.user_attrs[CHOSEN][len(store.study.trials) :]:
        store.study.enqueue_trial(params)


def _all(crew: Workers, tasks: Sequence[Task]) -> list[Any]:
    """What becomes of tasks, in their order."""
    for owner, task in enumerate(tasks):
        crew.begin(owner, task)
    results = dict(crew.finished() for _ in tasks)
    return [results[owner] for owner in range(len(tasks))]
