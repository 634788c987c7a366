"""A candidate as it travels to workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tinyrt.search.candidate import Candidate, candidate_of
from tinyrt.search.problem import Problem
from tinyrt.search.source import SpaceSource


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
        rate: greatest learning rate in float, in place of the candidate's.

    """

    space: SpaceSource
    params: Mapping[str, Any]
    seed: int
    core: str
    epochs: int
    int8_epochs: int
    rate: float | None = None

    def candidate(self, problem: Problem) -> Candidate:
        """The untrained candidate; always the same."""
        from optuna.trial import FixedTrial

        made = candidate_of(self.space.load(), FixedTrial(dict(self.params)), problem, self.seed)
        return made if self.rate is None else replace(made, learning_rate=self.rate)
