"""The search: candidates are proposed, go through the funnel, and what is left is a front."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from tinyrt.api.costs import Basis
from tinyrt.cluster.memory import keep_memory
from tinyrt.cluster.workers import Here, workers_of
from tinyrt.entry import entry
from tinyrt.errors import DataError, error_context
from tinyrt.export import find_core
from tinyrt.files import make_folder
from tinyrt.ir import Graph
from tinyrt.search.candidate import Space
from tinyrt.search.checks import Checks
from tinyrt.search.designs import designs_in
from tinyrt.search.front import SearchResult, write_front
from tinyrt.search.funnel import Funnel
from tinyrt.search.problem import Problem
from tinyrt.search.run import OnTrial, Run
from tinyrt.search.scouts import scouted
from tinyrt.search.setting import FACTOR, SearchSetting
from tinyrt.search.source import SpaceSource, space_source
from tinyrt.search.store import Record, opened, optuna_there
from tinyrt.search.teacher import Teacher
from tinyrt.search.work import require_tools

STUDY, TRIALS = "study.log", "trials"
"""Names in the output folder: the study, unless it has another name, and trained models."""


@entry
def search_networks(
    space: str | Space,
    data: str | Path | Mapping[str, ArrayLike],
    output: str | Path,
    setting: SearchSetting,
    *,
    validation: float = 0.2,
    study: str | Path | None = None,
    resume: bool = False,
    workers: int | None = 1,
    scheduler: Any = None,
    teacher: str | Path | Graph | None = None,
    begin: str | Path | Sequence[Mapping[str, Any]] = (),
    test: str | Path | Mapping[str, ArrayLike] | None = None,
    emulate: int = 0,
    on_trial: OnTrial = lambda done, total, record: None,
    on_dashboard: Callable[[str], object] = lambda address: None,
) -> SearchResult:
    """Search for networks within a budget, and write those that none beats in everything.

    What does not fit is refused before it is trained. With one worker the same seed gives the same
    search; with more, what is proposed depends on who is done first.

    Args:
        space: a name in ``tinyrt.search.SPACES``, ``file.py:function``, or a function: of an Optuna
            trial, a ``Problem`` and a random generator, to a network or a ``Candidate``.
        data: an .npz file or arrays: ``x``, samples first, and ``y``: classes as integers, or
            values as floats; without it an autoencoder is sought.
        output: the folder for models, C code and the study.
        setting: the user's choices.
        validation: share of the samples that candidates are judged by, and never trained on.
        study: the study's file; by default ``study.log`` in the folder.
        resume: whether to go on with the study in the file.
        workers: processes on this machine; one is this process, which keeps the memory that
            training frees from then on (``tinyrt.cluster.memory``); None for one to each processor.
        scheduler: the address of a Dask scheduler, ``tcp://host:8786``, or a client of it, in place
            of these.
        teacher: a .tflite or .onnx model, or a graph, that gives scores of the classes: in float,
            candidates learn from its answers, too.
        begin: choices of the first trials, by name, as ``Point.params`` has them: designs by hand,
            or what an earlier search found; or a JSON file of them, or its ``front.json``. What one
            leaves open is proposed.
        test: data as ``data``, of samples that are in neither part of it: the front is judged by
            them at the end, and the result says how often that was done in this study.
        emulate: samples that each model of the front answers on the emulated core at the end; the
            result says whether its answers are the host's.
        on_trial: called with how many trials came to their end, how many there will be, and what
            became of the last; of a study that goes on, first for those that it has.
        on_dashboard: called with the address of Dask's dashboard, where workers are Dask's.

    Raises:
        DataError: data, space or a choice are no good, or the study is another one.
        OutputError: the folder cannot be written, or another search has the study open.
        ToolError: Optuna, Dask, the compiler or the emulator are missing.

    """
    source = space_source(space)
    taught = None if teacher is None else Teacher.of(teacher)
    with error_context(file=None if isinstance(teacher, Graph | None) else str(teacher)):
        problem = Problem.of(data, validation, setting.seed, taught)
    designs = designs_in(begin) if isinstance(begin, str | Path) else begin
    _require_samples(setting.folds, validation)
    checks = Checks.of(problem, test, emulate)
    folder = Path(output)
    path = folder / STUDY if study is None else Path(study)
    pruner = optuna_there().pruners.SuccessiveHalvingPruner(
        min_resource=setting.first_rung, reduction_factor=FACTOR
    )
    facts = setting.facts(_named(source), problem)
    if scheduler is None:
        require_tools(setting.budget.core, setting.basis)
    if emulate and find_core(setting.budget.core).prefix:
        require_tools(setting.budget.core, Basis.COUNTED)
    with opened(
        *(path, facts, setting.directions, setting.seed, pruner, setting.basis.value),
        resume=resume,
    ) as store:
        funnel = Funnel(source, problem, setting, store, make_folder(folder / TRIALS))
        scouts: dict[int, Record] = {}
        number = None if scheduler else workers
        with workers_of(problem, number, scheduler, on_dashboard) as crew:
            if isinstance(crew, Here):
                keep_memory()
            if setting.share:
                total = setting.scouts + setting.trials
                funnel, sent = scouted(funnel, crew, lambda n, _, of: on_trial(n, total, of))
                scouts = sent.records()
            store.begin(designs)
            ahead = len(scouts)
            Run(funnel, crew, lambda n, of, record: on_trial(ahead + n, ahead + of, record)).all()
        return write_front(funnel, store, folder, path, checks, scouts)


def _require_samples(folds: int, share: float) -> None:
    """Refuse to hold out more samples than there are."""
    if folds * share > 1 + 1e-9:
        raise DataError(
            f"{folds} folds hold out {share:g} of the samples each",
            expected="all samples together at most",
            hint=f"--folds {int(1 / share)}, or --validation {1 / folds:.2g}",
        )


def _named(source: SpaceSource) -> str:
    """The space, by its name and what stands in its file."""
    digest = hashlib.sha256(source.text.encode()).hexdigest()[:12]
    return f"{source.name} {digest}" if source.file else source.name
