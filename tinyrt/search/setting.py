"""The user's choices for a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tinyrt.api.costs import Basis
from tinyrt.api.fitting import DeviceBudget
from tinyrt.emulate.cycles import table_of
from tinyrt.errors import DataError
from tinyrt.export import find_core
from tinyrt.search.problem import Problem

COSTS = ("arena", "flash", "instructions", "cycles")

FACTOR = 3
"""Of so many candidates, one trains on from rung to rung, for so many times as long."""

RUNGS = 3
"""How many rungs there are at most."""


@dataclass(frozen=True)
class SearchSetting:
    """The user's choices.

    Attributes:
        budget: what a model may cost, and on which core.
        trials: candidates that are proposed in all.
        objectives: what is traded against each other: ``quality``, and of arena, flash,
            instructions and cycles those named; by default those that the budget limits.
        epochs: passes over the data in float, on the last rung.
        int8_epochs: passes in training for int8; a fifth of ``epochs`` by default.
        seed: of what is proposed, of weights, and of the samples' order.
        folds: how often the best third of those trained to the end is trained again, from the
            beginning, with other samples held out; its score is that of all, and its model learns
            from every sample. 1 for the first time only, of all.
        share: passes over the data that train weights which all networks share; 0 for none.
        scouts: candidates that are judged by these weights, before any is trained by itself.

    Raises:
        DataError: a number is out of range, there is no such objective, or the host is asked for
            instructions.
        UnsupportedError: cycles are asked for of a core whose cycles are not known.

    """

    budget: DeviceBudget
    trials: int = 100
    objectives: tuple[str, ...] = ()
    epochs: int = 30
    int8_epochs: int | None = None
    seed: int = 0
    folds: int = 1
    share: int = 0
    scouts: int = 300

    def __post_init__(self) -> None:
        least = {"trials": 1, "epochs": 1, "int8_epochs": 1, "seed": 0, "folds": 1}
        least |= {"share": 0, "scouts": 1}
        for name, lowest in least.items():
            given = getattr(self, name)
            if given is not None and given < lowest:
                raise DataError(f"{name} is {given}", expected=f"{lowest} or more")
        if self.share and self.folds > 1:
            raise DataError(
                f"{self.folds} folds beside shared weights",
                expected="one of them: shared weights have seen what other folds hold out",
                hint="leave out --folds, or --share",
            )
        unknown = [name for name in self.objectives if name not in COSTS]
        if unknown or len(set(self.objectives)) < len(self.objectives):
            raise DataError(
                f"objectives {', '.join(self.objectives)}",
                expected=f"of {', '.join(COSTS)}, each once; quality always counts",
            )
        core = find_core(self.budget.core)
        if not core.prefix and "instructions" in self.needed:
            raise DataError(
                f"instructions are not counted on {core.name}",
                expected="a core that is emulated",
                hint="limit the arena and flash only, or choose another core",
            )
        if "cycles" in self.needed:
            table_of(core.name)
        object.__setattr__(self, "budget", replace(self.budget, core=core.name))

    @property
    def traded(self) -> tuple[str, ...]:
        """The costs that are traded against quality."""
        return self.objectives or tuple(self.budget.limits)

    @property
    def needed(self) -> frozenset[str]:
        """The costs that must be known."""
        return frozenset((*self.traded, *self.budget.limits))

    @property
    def basis(self) -> Basis:
        """What these costs take."""
        if "cycles" in self.needed:
            return Basis.TIMED
        if "instructions" in self.needed:
            return Basis.COUNTED
        return Basis.LINKED if "flash" in self.needed else Basis.FORMULA

    @property
    def directions(self) -> tuple[str, ...]:
        """For Optuna: quality is to rise, costs are to fall."""
        return ("maximize", *("minimize" for _ in self.traded))

    @cached_property
    def rungs(self) -> tuple[int, ...]:
        """Epochs after which candidates are compared; the last are all there are.

        Those that scouts have chosen are all trained to the end.
        """
        if self.share:
            return (self.epochs,)
        first = self.first_rung
        below = [first * FACTOR**i for i in range(RUNGS)]
        return (*(epochs for epochs in below if epochs < self.epochs), self.epochs)

    @property
    def steps(self) -> tuple[int, ...]:
        """What the rungs are to successive halving: epochs, as if the last had its full length."""
        return tuple(self.first_rung * FACTOR**i for i in range(len(self.rungs)))

    @property
    def first_rung(self) -> int:
        """Epochs of the first rung."""
        most: int = FACTOR ** (RUNGS - 1)
        return -(-self.epochs // most)

    @property
    def final_epochs(self) -> int:
        """Passes in training for int8."""
        return self.int8_epochs or max(1, round(self.epochs / 5))

    def facts(self, space: str, problem: Problem) -> Mapping[str, Any]:
        """What a study that is gone on with must agree in; the number of trials may grow."""
        return {
            "space": space,
            "data": problem.digest,
            "core": self.budget.core,
            "limits": self.budget.limits,
            "objectives": list(self.traded),
            "epochs": [self.epochs, self.final_epochs],
            "seed": self.seed,
            "folds": self.folds,
            "shared": [self.share, self.scouts] if self.share else [],
        }
