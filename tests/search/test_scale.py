"""Thousands of trials on many workers: who waits for whom, and what grows."""

import optuna
import pytest

from benchmarks import search_cluster, stand_ins
from tests.sampling import sampled
from tinyrt.search import optuna_parts
from tinyrt.search.optuna_parts import Journal, Proposer


def test_a_search_keeps_its_workers_busy():
    workers = sampled(2, 64)
    marks = search_cluster.clocked(workers, trials=16 * workers, epoch=10.0, every=2 * workers)
    assert [mark.trials for mark in marks] == list(
        range(2 * workers, 16 * workers + 1, 2 * workers)
    )
    steady = marks[:-3]  # at the end nothing is left to be begun
    assert all(0.95 <= mark.busy <= 1 + 1e-3 for mark in steady)
    assert all(0 < mark.own < 0.5 for mark in marks)


def test_the_clock_counts_what_the_search_takes_and_what_work_lasts(monkeypatch):
    clock = iter([0.0, 1.0, 1.5, 2.5, 4.5, 4.5])
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    crew = search_cluster.Clocked(1)
    monkeypatch.setattr(stand_ins.Pace, "spend", staticmethod(lambda seconds: None))
    task = search_cluster.Task(lambda problem: stand_ins.spend(10.0), ())
    crew.begin("a", task)  # at 1, until 11; the work itself is no part of the search
    assert crew.finished() == ("a", None)
    assert crew._now == 11.0
    assert crew.worked() == 10.0
    assert crew._now == 13.0


@pytest.mark.whole
def test_dask_forgets_what_is_done_and_its_workers_work():
    marks, left = search_cluster.real(4, trials=20, epoch=0.02, every=10)
    assert [mark.trials for mark in marks] == [10, 20]
    assert left <= 3, "the samples, and what was done a moment ago"
    assert all(0 < mark.busy <= 1 for mark in marks)


def studied(number):
    """A study whose sampler looks at little, and what it saw for each proposal."""
    sampler = Proposer(0)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    seen, tpe = [], sampler._tpe

    def before(view, trial):
        seen.append([t.number for t in view.get_trials(deepcopy=False)])

    tpe.before_trial = before
    for i in range(number):
        trial = study.ask()
        x = trial.suggest_float("x", 0, 1)
        study.tell(trial, [1.0 if i == 3 else x / 2, 0.0 if i == 3 else 1 - x])
    return seen, sampler, study


def test_proposals_look_at_the_last_trials_and_the_front(monkeypatch):
    monkeypatch.setattr(optuna_parts, "LAST", 20)
    monkeypatch.setattr(optuna_parts, "EVERY", 5)
    seen, _, _ = studied(40)
    assert seen[9] == list(range(10))
    assert seen[39] == [3, *range(20, 40)], "trial 3 beats all others"


def test_nobody_copies_all_trials_to_propose_the_next(monkeypatch, tmp_path):
    monkeypatch.setattr(optuna_parts, "EVERY", 5)
    copied = []
    storage = optuna.storages.JournalStorage(Journal(str(tmp_path / "a.log")))
    get = storage.get_all_trials

    def noted(study_id, deepcopy=True, states=None):
        copied.append(deepcopy)
        return get(study_id, deepcopy=deepcopy, states=states)

    monkeypatch.setattr(storage, "get_all_trials", noted)
    study = optuna.create_study(
        storage=storage, directions=["maximize", "minimize"], sampler=Proposer(0)
    )
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, [trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)])
    assert len(copied) > 12
    assert not any(copied)


def test_what_is_proposed_hangs_on_what_is_looked_at(monkeypatch):
    monkeypatch.setattr(optuna_parts, "LAST", 12)
    asked = []
    original = optuna.samplers.TPESampler._sample

    def sample(self, study, trial, space):
        asked.append(len(study._get_trials(deepcopy=False, use_cache=True)))
        return original(self, study, trial, space)

    monkeypatch.setattr(optuna.samplers.TPESampler, "_sample", sample)
    studied(30)
    assert max(asked) <= 13, "Optuna asks the view, not the study"
    assert len(asked) == 20


def test_workers_that_are_busy_at_the_same_time_get_different_candidates():
    _, _, study = studied(20)
    together = [study.ask().suggest_int("y", 0, 2) for _ in range(30)]
    assert set(together) == {0, 1, 2}
    assert study.sampler._tpe._constant_liar


def test_the_journal_is_optunas_line_by_line(tmp_path):
    path = tmp_path / "a.log"
    study = optuna.create_study(storage=optuna.storages.JournalStorage(Journal(str(path))))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert not list(tmp_path.glob("*.lock*"))
    theirs = optuna.storages.journal.JournalFileBackend(str(path))
    again = optuna.load_study(
        study_name=study.study_name, storage=optuna.storages.JournalStorage(theirs)
    )
    assert [t.values for t in again.trials] == [t.values for t in study.trials]


@pytest.mark.parametrize(("workers", "slots"), [(1, 2), (4, 6), (64, 81)])
def test_more_is_under_way_than_there_are_workers(workers, slots):
    assert search_cluster.Clocked(workers).slots == slots
