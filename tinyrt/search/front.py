"""What a search has found: the Pareto front, each point a .tflite file and a C project."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tinyrt.attached import front_end_of
from tinyrt.dsp import Pipeline, Vision
from tinyrt.export import export_c
from tinyrt.files import make_folder, write_bytes, write_text
from tinyrt.search.checks import Checks, Emulated
from tinyrt.search.exits import parts_of, threshold_of
from tinyrt.search.funnel import Funnel
from tinyrt.search.setting import SearchSetting
from tinyrt.search.store import End, Record, Store

FRONT, MODEL, PROJECT = "front", "model.tflite", "c"
"""Names in the output folder."""


SCOUT_ENDS = (End.SCORED, End.REFUSED, End.REPEATED, End.FAILED)
"""What may become of a scout."""


@dataclass(frozen=True, slots=True)
class Point:
    """A trained model that no other beats in everything.

    Attributes:
        trial: its number.
        params: its choices.
        score: of the int8 model on the samples to choose by, greater is better.
        loss: of the same answers, less is better; it tells equals in score apart. None in a study
            of an earlier version.
        costs: name -> figure, of the trained model.
        model: the .tflite file.
        project: the folder with its C code.
        test: its score on the test samples; None where there are none.
        emulated: how it ran on the core; None where that was not asked for.
        front_end: what makes features of raw samples, or images of frames, in its file; None
            without.

    """

    trial: int
    params: Mapping[str, Any]
    score: float
    loss: float | None
    costs: Mapping[str, int]
    model: Path
    project: Path
    test: float | None = None
    emulated: Emulated | None = None
    front_end: Pipeline | Vision | None = None

    def as_dict(self) -> dict[str, Any]:
        """The point as plain data, for ``--json``."""
        return {
            "trial": self.trial,
            "score": self.score,
            "loss": self.loss,
            "costs": dict(self.costs),
            "params": dict(self.params),
            "model": str(self.model),
            "project": str(self.project),
            "test": self.test,
            "emulated": None if self.emulated is None else asdict(self.emulated),
            "front_end": None if self.front_end is None else self.front_end.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search has found.

    Attributes:
        front: its points, the best score first.
        records: number of a trial -> what became of it, in the trials' order.
        measure: what scores are: ``accuracy``, or ``error`` below zero.
        study: the file that it can be gone on from.
        setting: the user's choices.
        space: its name.
        importance: objective -> choice -> its share in what the best have in common; empty where
            too few models are trained to tell.
        looks: how often the test samples were looked at, this time included.
        scouts: number of a scout -> what became of it.

    """

    front: tuple[Point, ...]
    records: Mapping[int, Record]
    measure: str
    study: Path
    setting: SearchSetting
    space: str
    importance: Mapping[str, Mapping[str, float]]
    looks: int = 0
    scouts: Mapping[int, Record] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether all models that were emulated answer as on the host."""
        return all(point.emulated is None or point.emulated.agrees for point in self.front)

    @property
    def ends(self) -> dict[str, int]:
        """How many trials ended how."""
        return _counted(self.records, [end for end in End if end is not End.SCORED])

    @property
    def scout_ends(self) -> dict[str, int]:
        """How many scouts ended how; empty without scouts."""
        return _counted(self.scouts, SCOUT_ENDS) if self.scouts else {}

    @property
    def refused_early(self) -> float | None:
        """Share of the trials that do not fit which were refused before training."""
        early, late = self.ends[End.REFUSED], self.ends[End.MISFIT]
        return early / (early + late) if early + late else None

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, for ``--json``."""
        return {
            "space": self.space,
            "core": self.setting.budget.core,
            "limits": dict(self.setting.budget.limits),
            "objectives": list(self.setting.traded),
            "study": str(self.study),
            "measure": self.measure,
            "trials": len(self.records),
            "ends": self.ends,
            "scouts": self.scout_ends,
            "refused_early": self.refused_early,
            "test_looks": self.looks,
            "front": [point.as_dict() for point in self.front],
            "importance": {name: dict(shares) for name, shares in self.importance.items()},
            "trained": [
                {"trial": n, "score": r.score, "loss": r.loss, "costs": dict(r.costs or {})}
                for n, r in self.records.items()
                if r.end is End.TRAINED
            ],
            "not_trained": [
                {
                    "trial": n,
                    "end": r.end.value,
                    "stage": r.stage,
                    "reason": r.reason,
                    "costs": None if r.costs is None else dict(r.costs),
                }
                for n, r in self.records.items()
                if r.end is not End.TRAINED
            ],
        }


def _counted(records: Mapping[int, Record], ends: Iterable[End]) -> dict[str, int]:
    counts = Counter(record.end for record in records.values())
    return {end.value: counts[end] for end in ends}


def in_order(trials: Sequence[Any]) -> list[Any]:
    """Trials from the best score on, the cheaper of equal scores first; of equals, the first."""
    best = {tuple(trial.values): trial for trial in reversed(trials)}
    return sorted(best.values(), key=lambda t: (-t.values[0], t.values[1:]))


def write_front(
    funnel: Funnel,
    store: Store,
    folder: Path,
    study: Path,
    checks: Checks,
    scouts: Mapping[int, Record],
) -> SearchResult:
    """Write the front's models, their C projects, and ``front.json``; check them at the end.

    Raises:
        OutputError: the folder cannot be written.
        ToolError: the emulator is asked for, and missing.

    """
    records = store.records()
    trained = [t for t in store.study.best_trials if records[t.number].end is End.TRAINED]
    points: list[Point] = []
    for trial in in_order(trained):
        record = records[trial.number]
        place = make_folder(folder / FRONT / f"{trial.number:05}")
        content = funnel.model_file(trial.number).read_bytes()
        model = write_bytes(place / MODEL, content)
        options, core = funnel.deployment(trial).options, funnel.setting.budget.core
        if threshold_of(model) is not None:
            parts_of(model, place).export(place / PROJECT, core=core)
        else:
            export_c(model, place / PROJECT, core=core, options=options)
        score, loss, costs = record.score, record.loss, record.costs
        assert score is not None
        assert costs is not None
        point = Point(trial.number, trial.params, score, loss, costs, model, place / PROJECT)
        checked = checks.tested(model), checks.emulated(model, core, options)
        front_end = front_end_of(model)
        points.append(replace(point, test=checked[0], emulated=checked[1], front_end=front_end))
    looks = store.look(checks.test is not None and bool(points))
    measure = "accuracy" if funnel.problem.has_classes else "error"
    setting = funnel.setting
    importance = store.importance((measure, *setting.traded))
    result = SearchResult(
        *(tuple(points), records, measure, study, setting, funnel.space.name, importance, looks),
        scouts=scouts,
    )
    write_text(folder / f"{FRONT}.json", json.dumps(result.as_dict(), indent=1) + "\n")
    return result
