"""The front, when all is chosen: on samples that chose nothing, and on the emulated core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.api.emulating import emulate_recording
from tinyrt.api.models import run_emulated
from tinyrt.attached import front_end_of
from tinyrt.errors import DataError
from tinyrt.export.options import NO_OPTIONS, ExportOptions
from tinyrt.files import scratch_folder
from tinyrt.search.exits import parts_of, threshold_of
from tinyrt.search.learning import figure
from tinyrt.search.problem import Problem
from tinyrt.search.seen import answers_of, recording_of, wanted


@dataclass(frozen=True, slots=True)
class Emulated:
    """A model on the emulated core.

    Attributes:
        samples: that it answered; answers to a recording, with a front end.
        agrees: whether its answers are the host's, bit for bit.
        instructions: per inference; on average, with an early exit; None on this machine.

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
        if test.pixels != of.pixels:
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
        right = wanted(front_end_of(model), self.test)
        return figure(answers_of(model, self.test.x), right, self.problem)

    def emulated(
        self, model: Path, core: str, options: ExportOptions = NO_OPTIONS
    ) -> Emulated | None:
        """The model on the core; None where that was not asked for.

        A model with a front end hears the samples as one recording, window behind window; what it
        answers to that is more or less than one answer for each. With a camera they are frames.

        Args:
            model: its file.
            core: the core's name.
            options: what its code is asked for.

        Raises:
            ToolError: the compiler or the emulator is missing.

        """
        if not self.emulate:
            return None
        shown = self._shown()[: self.emulate]
        if threshold_of(model) is not None:
            with scratch_folder() as folder:
                run = parts_of(model, folder).emulate(shown, core=core)
            mean = run.mean_instructions
            return Emulated(len(shown), run.emulation.agrees, None if mean is None else round(mean))
        if front_end_of(model) is None:
            report = run_emulated(model, core=core, inputs=shown, options=options)
        else:
            recording = recording_of(shown, self.problem)
            report = emulate_recording(model, recording, core=core, options=options)
        return Emulated(report.samples, report.agrees, report.instructions)

    def _shown(self) -> Any:
        if self.test is not None:
            return self.test.x
        return self.problem.x[np.sort(self.problem.parts[1])]


def _unlike(of: Problem, test: Problem) -> DataError:
    def described(problem: Problem) -> str:
        kind = "classes" if problem.has_classes else "values"
        pixels = "" if problem.pixels is None else f" of {problem.pixels}"
        return f"samples {list(problem.input_shape)}{pixels} with {problem.outputs} {kind}"

    return DataError(f"the test has {described(test)}", expected=described(of))
