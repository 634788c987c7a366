"""The constants of ``tinyrt.dsp.costs``, read off what QEMU counts.

python -m tests.dsp.fit_costs CORES...: measures front ends and decisions of many sizes, fits the
terms of each step to them by least squares of relative differences, and prints each core's table.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tests.dsp import camera_costs, decision_costs, motion_costs, step_costs
from tinyrt.dsp.cost_table import AT_ONCE, VECTORS
from tinyrt.dsp.costs import front_terms
from tinyrt.dsp.decision_terms import decision_terms
from tinyrt.dsp.transform_terms import Terms

SHARED = ("transform", "energies", "roots", "logarithm")
"""Steps of motion that have the constants of sound."""

Found = Iterable[tuple[str, Terms, int]]
"""Of each measurement the step, what its constants are times, and instructions."""


def sounds(core: str, folder: Path) -> Found:
    """Steps of log-mel front ends."""
    fronts = [step_costs.front_of(fft, i) for i, fft in enumerate(step_costs.FITTED)]
    for front, found in zip(fronts, step_costs.measured(fronts, core, folder), strict=True):
        for step, terms in front_terms(front, has_vectors=core in VECTORS).items():
            yield step, terms, found[step]


def motions(core: str, folder: Path) -> Found:
    """Steps of features of motion."""
    fronts = [motion_costs.motion_of(size, i) for i, size in enumerate(motion_costs.FITTED)]
    for front, found in zip(fronts, motion_costs.measured(fronts, core, folder), strict=True):
        for step, terms in front_terms(front, has_vectors=core in VECTORS).items():
            if step not in SHARED:
                yield step, terms, found[step]


def cameras(core: str, folder: Path) -> Found:
    """Frames of cameras."""
    ones = camera_costs.of_all(14, 0)
    for camera, found in zip(ones, camera_costs.measured(ones, core, folder), strict=True):
        for step, terms in front_terms(camera, has_vectors=core in VECTORS).items():
            yield step, terms, found[step]


def decisions(core: str, folder: Path) -> Found:
    """Decisions that are met; the most of boxes has the constants of those kept."""
    ones = decision_costs.fitted_ones()
    for one, found in zip(ones, decision_costs.measured(ones, core, folder), strict=True):
        terms_of = decision_terms(one, at_once=AT_ONCE.get(core, 1))
        for (step, terms), i in zip(terms_of.items(), (0, 1), strict=False):
            yield step, terms, found[i]


def fitted(found: Found) -> dict[str, list[float]]:
    """Step -> constants."""
    of_steps = defaultdict(list)
    for step, terms, count in found:
        of_steps[step].append((terms, count))
    constants = {}
    for step, each in of_steps.items():
        terms = np.array([t for t, _ in each], float)
        counts = np.array([c for _, c in each], float)
        made, *_ = np.linalg.lstsq(terms / counts[:, None], np.ones(len(counts)), rcond=None)
        off = np.abs(terms @ made / counts - 1).max()
        print(f"{step}: off by {100 * off:.1f} % at most", file=sys.stderr)
        constants[step] = [round(float(c), 2) for c in made]
    return constants


def main() -> None:
    """Print the table of each core."""
    for core in sys.argv[1:]:
        made = {}
        for measure in (sounds, motions, cameras, decisions):
            with tempfile.TemporaryDirectory() as scratch:
                made |= fitted(measure(core, Path(scratch)))
        rows = [f'        "{step}": ({", ".join(map(str, c))}),' for step, c in made.items()]
        print("\n".join([f'    "{core}": {{', *rows, "    },"]))


if __name__ == "__main__":
    main()
