"""What is Optuna's, made fit for thousands of trials: who proposes, and the journal.

TPE (Bergstra et al. 2011) proposes. Its time grows with the trials that it looks at: so it looks at
the last ones, and at the front.
"""

from __future__ import annotations

import json
from collections.abc import Container
from pathlib import Path
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

LAST = 250
"""Trials that proposals look at, beside those of the front."""

EVERY = 25
"""Trials after which the front is looked for again."""


class Proposer(BaseSampler):
    """TPE that looks at the last trials and the front.

    What is under way counts as bad meanwhile ("constant liar"), so that workers that are busy at
    the same time get different candidates.
    """

    def __init__(self, seed: int) -> None:
        self._tpe = TPESampler(seed=seed, constant_liar=True)
        self._looked_at = 0
        self._front: list[FrozenTrial] = []
        self._view: _View | None = None

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """See ``BaseSampler``: choose what is looked at."""
        trials = study.get_trials(deepcopy=False)
        if len(trials) >= self._looked_at + EVERY:
            self._looked_at = len(trials)
            self._front = _View(study, trials).best_trials
        last = trials[-LAST:]
        older = [t for t in self._front if t.number < last[0].number]
        self._view = _View(study, [*older, *last])
        self._tpe.before_trial(self._view, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        """See ``BaseSampler``."""
        self._tpe.after_trial(study, trial, state, values)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """See ``BaseSampler``: each choice is proposed by itself, as spaces have what they like."""
        del study, trial
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """See ``BaseSampler``."""
        del study, trial, search_space
        return {}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """See ``BaseSampler``."""
        return self._tpe.sample_independent(
            self._view or study, trial, param_name, param_distribution
        )


class Journal(JournalFileBackend):
    """Optuna's journal in a file that nobody else writes to.

    It needs no lock, and nobody waits for the disk at each line: who writes it does so at the end
    of a trial.
    """

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """See ``BaseJournalBackend``."""
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        with Path(self._file_path).open("ab") as file:
            file.write(lines.encode())


class _View(Study):
    """A study of which some trials are seen, and not changed.

    So they need no copies: of thousands these take longer than all else.
    """

    def __init__(self, study: Study, trials: list[FrozenTrial]) -> None:
        self.__dict__.update(study.__dict__)
        self._seen = trials

    def _get_trials(
        self,
        deepcopy: bool = True,
        states: Container[TrialState] | None = None,
        use_cache: bool = False,
    ) -> list[FrozenTrial]:
        del deepcopy, use_cache
        return [t for t in self._seen if states is None or t.state in states]
