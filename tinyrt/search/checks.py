"""The front, when all is chosen: on samples that chose nothing, and on the emulated core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.api.models import run_emulated, run_model
from tinyrt.errors import DataError
from tinyrt.search.problem import Problem
from tinyrt.search.work import figure


@dataclass(frozen=True, slots=True)
class Emulated:
    """A model on the emulated core.

    Attributes:
        samples: that it answered.
        agrees: whether its answers are the host's, bit for bit.
        instructions: per inference; None on this machine.

    """

    samples: int
    agrees: bool
    instructions: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Checks:
    """What the points of a front are checked by.

    Attributes:
        problem: what the search was for.
        test: samples that no candidate was trained on or judged by; None for no such check.
        emulate: samples to be run on the core: of the test, or of those that candidates are judged
            by; 0 for none.

    Raises:
        DataError: the test is of other samples than the search, or there are fewer to be emulated.

    """

    problem: Problem
    test: Problem | None = None
    emulate: int = 0

    def __post_init__(self) -> None:
        of = self.problem
        test = self.test or of
        if test.input_shape != of.input_shape or test.has_classes != of.has_classes:
            raise _unlike(of, test)
        if test.outputs > of.outputs or (not of.has_classes and test.outputs != of.outputs):
            raise _unlike(of, test)
        if not 0 <= self.emulate <= len(self._shown()):
            raise DataError(
                f"{self.emulate} samples to emulate",
                expected=f"0 to {len(self._shown())}, as there are",
            )

    @classmethod
    def of(
        cls, problem: Problem, test: str | Path | Mapping[str, ArrayLike] | None, emulate: int
    ) -> Checks:
        """Checks by a data file, or arrays by name."""
        return cls(problem, None if test is None else Problem.of(test), emulate)

    def tested(self, model: Path) -> float | None:
        """The model's score on the test samples, greater is better; None where there are none."""
        if self.test is None:
            return None
        (answers,) = run_model(model, self.test.x).values()
        return figure(answers, self.test.y, self.problem)

    def emulated(self, model: Path, core: str) -> Emulated | None:
        """The model on the core; None where that was not asked for.

        Raises:
            ToolError: the compiler or the emulator is missing.

        """
        if not self.emulate:
            return None
        report = run_emulated(model, core=core, inputs=self._shown()[: self.emulate])
        return Emulated(report.samples, report.agrees, report.instructions)

    def _shown(self) -> Any:
        if self.test is not None:
            return self.test.x
        return self.problem.x[np.sort(self.problem.parts[1])]


def _unlike(of: Problem, test: Problem) -> DataError:
    def described(problem: Problem) -> str:
        kind = "classes" if problem.has_classes else "values"
        return f"samples {list(problem.input_shape)} with {problem.outputs} {kind}"

    return DataError(f"the test has {described(test)}", expected=described(of))
