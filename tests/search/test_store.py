"""The study's file: gone on with after a crash, kept from others, and told from other files."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import optuna
import pytest

from tests.search.made import FILE, QUICK, blobs, dense
from tinyrt.errors import DataError, OutputError, ToolError
from tinyrt.search import funnel, search_networks, store
from tinyrt.search.store import End, Record

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A search that nobody disturbed, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    return search_networks(dense, blobs(), folder, QUICK), folder


SPACE = """
from tinyrt.train.nn import Linear, Sequential

def layer(trial, problem, rng):
    trial.suggest_int("number", 1, 3 * 333)
    return Sequential(out=Linear(12, problem.outputs, rng=rng))
"""

CHILD = """
import os, signal
from tests.search.made import QUICK, blobs, dense
from tinyrt.search import funnel, search_networks

class Bytes:
    count = 0

def killed(path, content, write=funnel.write_bytes):
    write(path, content)
    Bytes.count += 1
    if Bytes.count == {after}:
        os.kill(os.getpid(), signal.SIGKILL)

funnel.write_bytes = killed
search_networks(dense, blobs(), "{folder}", QUICK)
"""


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize(
    ("after", "rungs"), [(2, [3, 9]), (4, [])], ids=["between rungs", "after the last"]
)
def test_a_search_that_is_killed_goes_on_where_it_was(after, rungs, whole, tmp_path, monkeypatch):
    code = CHILD.format(after=after, folder=tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    states = list((tmp_path / "trials").glob("*.state.npz"))
    assert len(states) == 1
    # What a program that is killed while it writes leaves: half a line, and its lock.
    log = tmp_path / "study.log"
    log.write_bytes(log.read_bytes() + b'{"op_code": 5, "wor')
    (tmp_path / "study.log.lock").symlink_to(log)
    trained = []
    train = funnel.train
    monkeypatch.setattr(
        funnel, "train", lambda *given: (trained.append(given[1:3]), train(*given))[1]
    )
    result = search_networks(dense, blobs(), tmp_path, QUICK, resume=True)
    assert [epochs for epochs, _ in trained[: len(rungs)]] == rungs
    assert all(state is not None for _, state in trained[: len(rungs)])
    assert trained[len(rungs)] == (1, None), "the next trial"
    assert len(result.records) == QUICK.trials
    first = min(n for n, r in whole[0].records.items() if r.end is not End.REFUSED)
    assert result.records[first] == whole[0].records[first]
    assert not list((tmp_path / "trials").glob("*.state.npz"))
    assert len(rung_numbers(log)) == len(set(rung_numbers(log)))


def rung_numbers(path):
    """Which trials have scores in training, each as often as it was begun."""
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    storage = optuna.storages.JournalStorage(backend)
    study = optuna.load_study(study_name=store.RUNGS, storage=storage)
    return [t.user_attrs[store.OF] for t in study.trials]


def test_what_a_killed_search_left_is_mended(tmp_path):
    path, lock = tmp_path / "study.log", tmp_path / "study.log.lock"
    path.write_bytes(b'{"op_code": 0}\n{"op_co')
    lock.symlink_to(path)
    store._mend(path)
    assert path.read_bytes() == b'{"op_code": 0}\n'
    assert not lock.is_symlink()


def test_a_study_moves_to_another_machine_with_its_folder(tmp_path, monkeypatch):
    """Other paths of the study, the data and the space; training under way goes along."""
    setting, run = replace(QUICK, trials=3), {}
    for place in ("whole", "here"):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "mine.py").write_text(SPACE)
        np.savez(folder / "data.npz", **blobs())
        run[place] = f"{folder}/mine.py:layer", folder / "data.npz", folder / "out", setting
    whole = search_networks(*run["whole"])

    written = []

    def dying(path, content, write=funnel.write_bytes):
        write(path, content)
        written.append(path)
        if len(written) == 2:
            raise EOFError

    with monkeypatch.context() as patched:
        patched.setattr(funnel, "write_bytes", dying)
        with pytest.raises(EOFError):
            search_networks(*run["here"])
    shutil.move(tmp_path / "here", tmp_path / "there")
    epochs, train = [], funnel.train
    monkeypatch.setattr(funnel, "train", lambda *of: (epochs.append(of[1]), train(*of))[1])
    there = tmp_path / "there"
    moved = f"{there}/mine.py:layer", there / "data.npz", there / "out", setting
    again = search_networks(*moved, resume=True)
    assert epochs[0] == QUICK.rungs[1], "the first rung came along"
    assert again.records == whole.records
    models = [[p.model.read_bytes() for p in found.front] for found in (whole, again)]
    assert models[0] == models[1]
    assert all(p.model.is_relative_to(there) for p in again.front)
    assert not (tmp_path / "here").exists()


def test_a_score_counts_once_however_often_it_is_found():
    study = optuna.create_study(direction="maximize")
    trial = study.ask()
    trial.report(0.5, 1)
    store.Ladder(trial, {1: 0.5}, is_open=True).stops(0.7, 1)
    over = store.Ladder(trial, {}, is_open=False)
    assert not over.stops(0.9, 3)
    over.end()
    (found,) = study.trials
    assert found.intermediate_values == {1: 0.5}
    assert not found.state.is_finished()


def test_a_study_is_begun_once_and_gone_on_with_on_request(whole, tmp_path):
    _, folder = whole
    with pytest.raises(DataError, match="there is a study already") as error:
        search_networks(dense, blobs(), folder, QUICK)
    assert error.value.hint == "--resume goes on with it"
    with pytest.raises(DataError, match="there is no study to go on with"):
        search_networks(dense, blobs(), tmp_path / "new", QUICK, resume=True)
    assert not (tmp_path / "new" / "study.log").exists()


OTHERS = {
    "seed 0": {"seed": 3},
    "epochs [9, 1]": {"epochs": 8},
    "limits {'arena': 60}": {"budget": replace(QUICK.budget, arena=61)},
    "core cortex-m4": {"budget": replace(QUICK.budget, core="m0")},
    "objectives ['arena']": {"objectives": ("flash",), "budget": replace(QUICK.budget)},
}


@pytest.mark.parametrize("fact", OTHERS)
def test_a_study_goes_on_with_the_same_choices(whole, fact):
    _, folder = whole
    data = blobs()
    with pytest.raises(DataError, match="the study is of another search, with") as error:
        search_networks(dense, data, folder, replace(QUICK, **OTHERS[fact]), resume=True)
    assert fact in error.value.problem


def test_data_and_space_must_be_the_same(whole, tmp_path):
    _, folder = whole
    (tmp_path / "mine.py").write_text(FILE)
    for space, data in ((dense, blobs(93)), (f"{tmp_path}/mine.py:flat", blobs())):
        with pytest.raises(DataError, match="the study is of another search"):
            search_networks(space, data, folder, QUICK, resume=True)


@pytest.mark.parametrize(
    ("found", "said"),
    [({"a": 1, "b": [2]}, None), ({"a": 1}, "b None"), ({"a": 1, "b": [2], "c": 3}, "c 3")],
)
def test_what_only_one_of_two_searches_was_told_makes_them_others(found, said):
    wanted = {"a": 1, "b": (2,)}
    if said is None:
        store._require_same(found, wanted, Path("a.log"))
    else:
        with pytest.raises(DataError, match=f"of another search, with {said}\n"):
            store._require_same(found, wanted, Path("a.log"))


FOREIGN = {
    "its first line is not of a journal": ("nothing, and no end of line", "[]\n"),
    "JSONDecodeError: ": ('{"op_code": 0, "worker_id": "a", \n{}\n',),
    "KeyError: ": ('{"op_code": 0}\n',),
}


@pytest.mark.parametrize("why", FOREIGN)
def test_other_files_are_told_from_studies_and_stay_as_they_are(why, tmp_path):
    path = tmp_path / "a.log"
    for text in FOREIGN[why]:
        path.write_text(text)
        with pytest.raises(DataError, match="the file is no study: " + why):
            search_networks(dense, blobs(), tmp_path, QUICK, study=path, resume=True)
        assert path.read_text() == text


def test_studies_of_others_are_left_alone(tmp_path):
    path = tmp_path / "theirs.log"
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    for name in ("theirs", "d", "c", "b", "a"):
        optuna.create_study(study_name=name, storage=storage)
    before = path.read_bytes()
    with pytest.raises(DataError, match="the file has studies a, b, c, d, theirs\n"):
        search_networks(dense, blobs(), tmp_path, QUICK, study=path, resume=True)
    assert path.read_bytes() == before


def test_a_study_is_one_search_s_at_a_time(tmp_path):
    def again(done, total, record):
        with pytest.raises(OutputError, match="another search has the study open"):
            search_networks(dense, blobs(), tmp_path, QUICK, resume=True)
        asked.append(done)

    asked = []
    search_networks(dense, blobs(), tmp_path, replace(QUICK, trials=1), on_trial=again)
    assert asked == [1]


def test_without_optuna_it_is_said_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ToolError, match="candidates are proposed by Optuna") as error:
        search_networks(dense, blobs(), tmp_path, QUICK)
    assert error.value.hint == "pip install 'tinyrt[search]'"
    assert not list(tmp_path.iterdir())


def test_optuna_says_nothing_and_is_left_as_it_was(capsys, tmp_path):
    before = optuna.logging.get_verbosity()
    search_networks(dense, blobs(), tmp_path, replace(QUICK, trials=2))
    assert capsys.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == before
    lines = (tmp_path / "study.log").read_text().splitlines()
    assert all(json.loads(line) for line in lines)


def opened(folder, basis="formula", *, resume):
    given = {}, ["maximize"], 0, optuna.pruners.NopPruner(), basis
    return store.opened(folder / "a study", *given, resume=resume)


def test_a_study_beside_goes_on_with_a_seed_of_its_own(tmp_path):
    seeds, given = [], ({}, ["maximize"], 7, optuna.pruners.NopPruner(), "formula")

    def sampler(seed):
        seeds.append(seed)
        return optuna.samplers.RandomSampler(seed=seed)

    with store.opened(tmp_path / "a study", *given, resume=False) as study:
        for _ in range(2):
            other = study.beside(store.SCOUTS, ["maximize"], sampler)
            other.end(other.study.ask(), Record(End.REFUSED, "shape"), None)
    assert seeds == [7, 7 + 1009]


def test_what_the_best_have_in_common_is_told_once_ten_are_trained(tmp_path):
    """The best score is that of a ``wide`` of 2, the least cost that of a ``deep`` of 0."""
    given = {}, ["maximize", "minimize"], 0, optuna.pruners.NopPruner(), "formula"
    with store.opened(tmp_path / "a study", *given, resume=False) as study:
        for i, (_, wide, deep) in enumerate(product(range(4), range(3), range(3))):
            study.study.enqueue_trial({"wide": wide, "deep": deep})
            trial = study.study.ask()
            for name in ("wide", "deep"):
                trial.suggest_categorical(name, [0, 1, 2])
            score, cost = 9 if wide == 2 else deep, 10 - wide if deep else 0
            values = [score - i / 99, cost + i / 99]
            study.end(trial, Record(End.TRAINED, "int8", score=0.0), values)
            if i in (8, 9):
                assert bool(study.importance(("score", "arena"))) is (i == 9)
        known = study.importance(("score", "arena"))
    for name, choice in (("score", "wide"), ("arena", "deep")):
        assert next(iter(known[name])) == choice
        assert known[name][choice] > 0.8


def test_the_same_choices_in_another_order_are_a_trial_s(tmp_path):
    with opened(tmp_path, resume=False) as study:
        trial = study.study.ask()
        chosen = {name: trial.suggest_int(name, 1, 9) for name in ("width", "depth")}
        study.end(trial, Record(End.REFUSED, "shape"), None)
        assert study.number_of(dict(reversed(chosen.items()))) == trial.number
        assert study.number_of(chosen | {"depth": 10}) is None
        assert study.number_of({"width": chosen["width"]}) is None


def test_costs_are_known_by_what_they_come_from(tmp_path):
    """Of trials that were not trained; training may change what a model costs."""
    with opened(tmp_path, resume=False) as study:
        for end in (End.REFUSED, End.STOPPED, End.SCORED, End.MISFIT, End.FAILED):
            costs = {"arena": len(end.value)}
            record = Record(end, "cost", costs=costs, structure=end.value, basis="formula")
            study.end(study.study.ask(), record, None)
    with opened(tmp_path, resume=True) as study:
        known = ("refused", "stopped", "scored")
        assert study.costs == {name: {"arena": len(name)} for name in known}
    with opened(tmp_path, "counted", resume=True) as study:
        assert study.costs == {}


def test_looks_at_the_test_samples_are_counted_over_all_runs(tmp_path):
    for resume, looks in ((False, (0, 1, 2, 2)), (True, (2, 3, 4, 4))):
        with opened(tmp_path, resume=resume) as study:
            assert tuple(map(study.look, (False, True, True, False))) == looks
