"""A study in a file: what was proposed, what became of it, and which trials were under way.

The file is Optuna's journal: one line is added for each change, so that a program that is killed
loses the line that it was writing, at most. Only the program that searches writes to it.
"""

from __future__ import annotations

import fcntl
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinyrt.errors import DataError, OutputError, ToolError
from tinyrt.files import make_folder, writing

if TYPE_CHECKING:
    from optuna import Study
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial

SEARCH, RUNGS, SCOUTS = "search", "rungs", "scouts"
"""Names of the studies in the file: the candidates, their scores while they train, and scouts."""

RECORD, SETTINGS, OF, LOOKS, BEGUN = "record", "settings", "trial", "test looks", "begun"
"""Names of what a trial and a study are given."""


ENOUGH = 10
"""Trained trials from which on it is told which choices matter."""


class End(StrEnum):
    """What became of a trial."""

    TRAINED = "trained"
    REFUSED = "refused"
    """It would not fit; it was not trained."""
    MISFIT = "misfit"
    """It was trained and does not fit."""
    STOPPED = "stopped"
    """Others are better after as many epochs."""
    REPEATED = "repeated"
    """An earlier trial has the same choices."""
    FAILED = "failed"
    SCORED = "scored"
    """A scout was judged by shared weights."""


@dataclass(frozen=True, slots=True)
class Record:
    """What became of a trial.

    Attributes:
        end: in a word.
        stage: how far it came: ``shape``, ``plan``, ``cost``, ``training`` or ``int8``; ``scout``
            for one that was judged by shared weights.
        reason: in words, where it was not trained to the end.
        costs: name -> figure, as far as they are known.
        score: of the int8 model; of a scout in float; None where it was not trained to the end.
        loss: of the int8 model on the same samples; it tells equals in score apart.
        structure: of the graph; empty without one.
        basis: what the costs come from.

    """

    end: End
    stage: str
    reason: str = ""
    costs: Mapping[str, int] | None = None
    score: float | None = None
    loss: float | None = None
    structure: str = ""
    basis: str = ""


class Ladder:
    """A candidate's scores in training, from rung to rung, and Optuna's word on them."""

    def __init__(self, trial: Trial, seen: Mapping[int, float], *, is_open: bool) -> None:
        self._trial, self.seen, self._is_open = trial, seen, is_open

    def stops(self, score: float, epochs: int) -> bool:
        """Take note of a score; whether training ends with it."""
        if not self._is_open:
            return False
        if epochs not in self.seen:
            self._trial.report(score, epochs)
        return self._trial.should_prune()

    def end(self, *, failed: bool = False) -> None:
        """There are no more rungs."""
        from optuna.trial import TrialState

        if self._is_open:
            state = TrialState.FAIL if failed else TrialState.PRUNED
            self._trial.study.tell(self._trial, state=state)
            self._is_open = False


class Store:
    """The study in its file.

    Attributes:
        study: Optuna's.
        costs: structure of a graph -> its costs before training, as an earlier trial found them.

    """

    def __init__(self, study: Study, rungs: Study, basis: str, path: Path, seed: int = 0) -> None:
        self._seed = seed
        self.study, self._rungs, self._path, self._basis = study, rungs, path, basis
        self._numbers: dict[str, int] = {}
        earlier = rungs.get_trials(deepcopy=False)
        self._ladders = {t.user_attrs[OF]: t for t in earlier if OF in t.user_attrs}
        self.costs: dict[str, Mapping[str, int]] = {}
        for trial in self.finished():
            self._note(trial.number, trial.params)
            record = record_of(trial)
            untrained = record.end in (End.REFUSED, End.STOPPED, End.SCORED)
            if untrained and record.basis == basis and record.costs is not None:
                self.costs[record.structure] = record.costs

    def beside(
        self, name: str, directions: Iterable[str], sampler: Callable[[int], BaseSampler]
    ) -> Store:
        """Another study in the same file; the sampler is made of a seed."""
        study = optuna_there().create_study(
            study_name=name,
            storage=self.study._storage,
            directions=list(directions),
            load_if_exists=True,
        )
        finished = [t for t in study.get_trials(deepcopy=False) if t.state.is_finished()]
        study.sampler = sampler(self._seed + 1009 * len(finished))
        return Store(study, self._rungs, self._basis, self._path, self._seed)

    def finished(self) -> list[FrozenTrial]:
        """Trials that came to an end."""
        return [t for t in self.study.get_trials(deepcopy=False) if t.state.is_finished()]

    def records(self) -> dict[int, Record]:
        """Number of a trial that came to its end -> what became of it."""
        return {t.number: record_of(t) for t in self.finished()}

    def under_way(self) -> list[Trial]:
        """Trials that an earlier run left unfinished; they go on with the choices they have."""
        from optuna.trial import Trial, TrialState

        left = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return [Trial(self.study, t._trial_id) for t in left]

    def number_of(self, params: Mapping[str, Any]) -> int | None:
        """The trial that came to its end with these choices."""
        return self._numbers.get(_key(params))

    def ladder(self, number: int) -> Ladder:
        """A trial's scores in training, from where an earlier run left them."""
        from optuna.trial import Trial

        if known := self._ladders.get(number):
            trial = Trial(self._rungs, known._trial_id)
            return Ladder(trial, known.intermediate_values, is_open=not known.state.is_finished())
        trial = self._rungs.ask()
        trial.set_user_attr(OF, number)
        self._sync()
        return Ladder(trial, {}, is_open=True)

    def end(self, trial: Trial, record: Record, values: list[float] | None) -> None:
        """Write what became of a trial; values are its objectives, where it is in the running."""
        from optuna.trial import TrialState

        trial.set_user_attr(RECORD, asdict(record))
        if values is not None:
            self.study.tell(trial, values)
        else:
            failed = record.end is End.FAILED
            self.study.tell(trial, state=TrialState.FAIL if failed else TrialState.PRUNED)
        self._sync()
        self._note(trial.number, trial.params)

    def begin(self, designs: Iterable[Mapping[str, Any]]) -> None:
        """Have the next trials begin with these choices; a study that goes on had its own."""
        if BEGUN not in self.study.user_attrs:
            for params in designs:
                self.study.enqueue_trial(dict(params), user_attrs={BEGUN: dict(params)})
            self.study.set_user_attr(BEGUN, True)

    def look(self, again: bool) -> int:
        """How often the test samples were looked at, in all runs of the study; now once more."""
        looks = int(self.study.user_attrs.get(LOOKS, 0)) + again
        if again:
            self.study.set_user_attr(LOOKS, looks)
            self._sync()
        return looks

    def importance(self, objectives: Iterable[str]) -> dict[str, dict[str, float]]:
        """Objective -> choice -> share in what the best trials have in common, the greatest first.

        By PED-ANOVA (Watanabe et al. 2023). Empty where too few trials are trained.
        """
        from optuna.importance import get_param_importances

        trained = len([t for t in self.finished() if record_of(t).end is End.TRAINED])
        if trained < ENOUGH:
            return {}

        def low_is_good(index: int, sign: int) -> Callable[[FrozenTrial], float]:
            return lambda trial: sign * trial.values[index]

        return {
            name: get_param_importances(self.study, target=low_is_good(i, 1 if i else -1))
            for i, name in enumerate(objectives)
        }

    def _sync(self) -> None:
        """See to it that what was written outlasts a loss of power."""
        with self._path.open("ab") as file:
            os.fsync(file.fileno())

    def _note(self, number: int, params: Mapping[str, Any]) -> None:
        self._numbers.setdefault(_key(params), number)


def _key(params: Mapping[str, Any]) -> str:
    return json.dumps(dict(params), sort_keys=True, default=str)


def record_of(trial: FrozenTrial) -> Record:
    """What became of a trial that came to its end."""
    fields = dict(trial.user_attrs[RECORD])
    return Record(**{**fields, "end": End(fields["end"])})


@contextmanager
def opened(
    path: Path,
    settings: Mapping[str, Any],
    directions: Iterable[str],
    seed: int,
    pruner: BasePruner,
    basis: str,
    *,
    resume: bool,
) -> Iterator[Store]:
    """Open a new study, or go on with the one in the file; nobody else may have it open.

    Args:
        path: the file.
        settings: what a study that is gone on with must agree in.
        directions: ``maximize`` or ``minimize``, for each objective.
        seed: of what is proposed.
        pruner: which stops trials by their scores in training.
        basis: of the costs that count as known.
        resume: whether there is a study to go on with.

    Raises:
        DataError: there is a study where none should be, or the other way round, or it is another.
        OutputError: the file cannot be written, or another search has it open.
        ToolError: Optuna is not installed.

    """
    optuna = optuna_there()
    if path.exists() is not resume:
        raise DataError(
            "there is no study to go on with" if resume else "there is a study already",
            file=str(path),
            expected="a study" if resume else "a file of another name",
            hint="leave out --resume" if resume else "--resume goes on with it",
        )
    make_folder(path.parent)
    with _held(path), _calm(optuna):
        storage = _storage_in(optuna, path)
        new = optuna.create_study
        new(study_name=RUNGS, storage=storage, direction="maximize", load_if_exists=True)
        study = new(
            study_name=SEARCH, storage=storage, directions=list(directions), load_if_exists=True
        )
        if SETTINGS in study.user_attrs:
            _require_same(study.user_attrs[SETTINGS], settings, path)
        else:
            study.set_user_attr(SETTINGS, dict(settings))
        from tinyrt.search.optuna_parts import Proposer

        # A study that goes on must not propose again what it began with.
        study.sampler = Proposer(seed + 1009 * len(study.trials))
        rungs = optuna.load_study(study_name=RUNGS, storage=storage, pruner=pruner)
        yield Store(study, rungs, basis, path, seed)


def optuna_there() -> Any:
    """Optuna.

    Raises:
        ToolError: it is not installed.

    """
    try:
        import optuna
    except ImportError as error:
        raise ToolError(
            "candidates are proposed by Optuna, which is not installed",
            hint="pip install 'tinyrt[search]'",
        ) from error
    return optuna


def _storage_in(optuna: Any, path: Path) -> Any:
    """The file as Optuna's storage.

    Raises:
        DataError: it is damaged, or holds other studies than those of a search.

    """
    from tinyrt.search.optuna_parts import Journal

    try:
        storage = optuna.storages.JournalStorage(Journal(str(path)))
        names = {summary.study_name for summary in optuna.get_all_study_summaries(storage)}
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise _no_study(path, f"{type(error).__name__}: {error}") from error
    if foreign := sorted(names - {SEARCH, RUNGS, SCOUTS}):
        raise DataError(
            f"the file has studies {', '.join(foreign)}",
            file=str(path),
            expected="the study of tinyrt search",
            hint="give another name",
        )
    return storage


def _no_study(path: Path, why: str) -> DataError:
    return DataError(
        f"the file is no study: {why}",
        file=str(path),
        expected="what an earlier tinyrt search wrote",
        hint="give another name",
    )


def _require_same(found: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    plain = json.loads(json.dumps(dict(wanted)))
    names = [name for name in {**plain, **found} if found.get(name) != plain.get(name)]
    if names:
        raise DataError(
            "the study is of another search, with "
            + ", ".join(f"{name} {found.get(name)}" for name in names),
            file=str(path),
            expected=", ".join(f"{name} {plain.get(name)}" for name in names),
            hint="ask for the same, or begin a study of another name",
        )


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep other searches out of the file, and mend what one that was killed has left."""
    with writing(path), path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                "another search has the study open",
                file=str(path),
                hint="wait for it, or give another name",
            ) from None
        _mend(path)
        with writing(path, hint="make room on the disk; the study goes on with --resume"):
            yield


def _mend(path: Path) -> None:
    """Remove the lock and the half line of a search that was killed: nobody else has the file."""
    content = path.read_bytes()
    if content and b'"op_code":' not in content.partition(b"\n")[0]:
        raise _no_study(path, "its first line is not of a journal")
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    os.truncate(path, content.rfind(b"\n") + 1)


@contextmanager
def _calm(optuna: Any) -> Iterator[None]:
    """Neither messages for each trial, nor warnings of parts that may change."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="optuna")
            yield
    finally:
        optuna.logging.set_verbosity(before)
