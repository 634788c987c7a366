"""Scouts: candidates that shared weights judge, and who is trained on of them."""

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import optuna
import pytest

from tests.search.made import QUICK, blobs, dense
from tinyrt.api.fitting import DeviceBudget
from tinyrt.cluster.tasks import Failure, Task
from tinyrt.errors import DataError
from tinyrt.search import Problem, SearchSetting, scouts, search, search_networks, supernet
from tinyrt.search.front import SCOUT_ENDS
from tinyrt.search.store import End
from tinyrt.search.work import Outline

FEW = replace(QUICK, trials=3, epochs=2, share=3, scouts=9)
FEWEST = replace(FEW, trials=1, epochs=1, share=1, scouts=4)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(scouts, "POOL", 5)


@pytest.fixture
def light(monkeypatch):
    """Fronts are not written."""

    def told(funnel, store, folder, path, checks, sent):
        ends = Counter(record.end.value for record in sent.values())
        return SimpleNamespace(records=store.records(), scouts=sent, study=path, scout_ends=ends)

    monkeypatch.setattr(search, "write_front", told)


def studies(result):
    backend = optuna.storages.journal.JournalFileBackend(str(result.study))
    storage = optuna.storages.JournalStorage(backend)
    return [optuna.load_study(study_name=n, storage=storage) for n in ("search", "scouts")]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A search with scouts, its folder, what was told, and from what training started."""
    folder, seen, started = tmp_path_factory.mktemp("scouts"), [], []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scouts, "POOL", 5)
        train_from = scouts.Funnel._training

        def noted(self, order, epochs, state):
            started.append((order, epochs, state, self.start))
            return train_from(self, order, epochs, state)

        patched.setattr(scouts.Funnel, "_training", noted)
        result = search_networks(dense, blobs(), folder, FEW, on_trial=lambda *a: seen.append(a))
    return result, folder, seen, started


def test_scouts_are_judged_at_their_costs_and_come_before_the_trials(found):
    result, folder, seen, _ = found
    assert sorted(result.scouts) == list(range(FEW.scouts))
    assert sorted(result.records) == list(range(FEW.trials))
    assert [s[:2] for s in seen] == [(n, 12) for n in range(1, 13)]
    assert [s[2] for s in seen[:9]] == [result.scouts[n] for n in range(9)]
    scored = [r for r in result.scouts.values() if r.end is End.SCORED]
    assert scored
    assert all(r.stage == "scout" and r.costs["arena"] <= 60 for r in scored)
    counts = {e.value: sum(r.end is e for r in result.scouts.values()) for e in SCOUT_ENDS}
    assert result.scout_ends == counts
    assert sum(counts.values()) == FEW.scouts
    assert "scored" not in result.ends
    assert json.loads((folder / "front.json").read_text())["scouts"] == counts


def test_who_no_scout_beats_is_trained_on_from_what_it_inherits(found):
    result, folder, _, started = found
    search, sent = studies(result)
    front = sorted(sent.best_trials, key=lambda t: (-t.values[0], t.values[1:]))
    every = np.unique(np.linspace(0, len(front) - 1, min(3, len(front))).round()).astype(int)
    chosen = [front[i].params for i in every]
    assert [t.params for t in search.trials][: len(chosen)] == chosen
    weights = (folder / "trials" / scouts.WEIGHTS).read_bytes()
    rate = sent.user_attrs["rate"]
    assert rate == pytest.approx(np.median([p["rate"] for p in sent.user_attrs["pool"]]))
    assert {order.rate for order, *_ in started} == {rate}
    assert {start.weights for *_, start in started} == {weights}
    assert {epochs for _, epochs, *_ in started} == {FEW.epochs}, "all are trained to the end"
    assert result.ends["stopped"] == 0 < result.ends["trained"]
    for trial in sent.best_trials:
        record = result.scouts[trial.number]
        assert trial.values == [record.score, record.costs["arena"]]


def test_the_same_seed_is_the_same_search_and_costs_are_found_once(
    found, light, monkeypatch, tmp_path
):
    asked, price = [], scouts.Funnel._priced

    def noted(self, trial, order, record):
        asked.append((type(self).__name__, record.structure in self.store.costs))
        return price(self, trial, order, record)

    monkeypatch.setattr(scouts.Funnel, "_priced", noted)
    (tmp_path / "trials").mkdir()
    (tmp_path / "trials" / scouts.WEIGHTS).write_bytes(b"of another study, whose file is gone")
    again = search_networks(dense, blobs(), tmp_path, FEW)
    assert (again.scouts, again.records) == (found[0].scouts, found[0].records)
    assert not any(known for who, known in asked if who == "Scouting")
    chosen = len(studies(found[0])[1].user_attrs["chosen"])
    assert [known for who, known in asked if who == "Funnel"][:chosen] == [True] * chosen


@pytest.mark.whole
def test_a_search_that_is_stopped_goes_on_as_if_it_had_not_been(found, light, tmp_path):
    result = found[0]

    class StoppedError(Exception):
        pass

    for last in (4, 10):  # among scouts, among trials

        def stop(done, total, record, last=last):
            if done == last:
                raise StoppedError

        with pytest.raises(StoppedError):
            search_networks(*(dense, blobs(), tmp_path, FEW), resume=last > 4, on_trial=stop)
    before = (tmp_path / "trials" / scouts.WEIGHTS).read_bytes()
    again = search_networks(dense, blobs(), tmp_path, FEW, resume=True)
    assert (tmp_path / "trials" / scouts.WEIGHTS).read_bytes() == before
    assert len(again.scouts) == FEW.scouts
    assert len(again.records) == FEW.trials
    assert [again.scouts[n] for n in range(4)] == [result.scouts[n] for n in range(4)]


def test_shared_weights_go_on_from_where_they_were_written(found, light, tmp_path, monkeypatch):
    calls = []

    def dying(orders, epochs, state, of):
        calls.append((epochs, state is None))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return supernet.train_shared(orders, epochs, state, of)

    monkeypatch.setattr(scouts, "train_shared", dying)
    with pytest.raises(KeyboardInterrupt):
        search_networks(dense, blobs(), tmp_path, FEW)
    again = search_networks(dense, blobs(), tmp_path, FEW, resume=True)
    assert calls == [(1, True), (2, False), (2, False), (3, False)]
    assert again.scouts == found[0].scouts


def test_weights_that_are_damaged_are_refused(light, tmp_path):
    def stop(*_):
        raise EOFError

    with pytest.raises(EOFError):
        search_networks(dense, blobs(), tmp_path, FEWEST, on_trial=stop)
    path = tmp_path / "trials" / scouts.WEIGHTS
    np.savez(path, weights=np.ones(3))
    with pytest.raises(DataError) as error:
        search_networks(dense, blobs(), tmp_path, FEWEST, resume=True)
    assert error.value.problem == "the file has no shared weights: KeyError: 'facts'"
    assert error.value.file == str(path)
    path.unlink()
    again = search_networks(dense, blobs(), tmp_path, FEWEST, resume=True)
    assert len(again.records) == FEWEST.trials


def test_where_nothing_fits_nothing_is_shared(tmp_path, monkeypatch):
    monkeypatch.setattr(scouts, "DRAWN", 6)
    tight = replace(FEW, budget=DeviceBudget(arena=4))
    with pytest.raises(DataError) as error:
        search_networks(dense, blobs(), tmp_path, tight)
    assert error.value.problem == "of 6 candidates that were drawn none fits"


def raising(trial, problem, rng):
    if trial.suggest_int("number", 0, 3) == 0:
        raise KeyError("mine")
    return dense(trial, problem, rng)


def test_a_space_that_raises_has_scouts_that_fail(light, tmp_path):
    result = search_networks(raising, blobs(), tmp_path, replace(FEWEST, scouts=8))
    failed = [r for r in result.scouts.values() if r.end is End.FAILED]
    assert {r.reason for r in failed} <= {"KeyError: 'mine'"}
    assert result.scout_ends["failed"] == len(failed) > 0


def test_weights_that_cannot_be_trained_end_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr(scouts, "train_shared", lambda *_: Failure("no").reason / 2)
    with pytest.raises(DataError, match="the shared weights cannot be trained: TypeError"):
        search_networks(dense, blobs(), tmp_path, FEW)


def deep(trial, problem, rng):
    """Choices that sleep, and one that is of other values here and there."""
    layers = trial.suggest_int("layers", 1, 2)
    if layers == 2:
        trial.suggest_int("sleeps", 1, 99)
    trial.suggest_int("varied", 1, 5 * layers)
    return dense(trial, problem, rng)


def test_evolution_mixes_choices_that_sleep(light, tmp_path):
    result = search_networks(deep, blobs(), tmp_path, replace(FEWEST, scouts=8))
    search, sent = studies(result)
    assert set(json.loads(json.dumps(sent.user_attrs["choices"]))) == {
        *("layers", "sleeps", "width", "rate")
    }
    assert all("sleeps" in trial.params for trial in sent.trials)
    assert "NSGAII" in type(scouts._evolution(8)(0)).__name__
    chosen = sent.user_attrs["chosen"]
    assert all(("sleeps" in params) == (params["layers"] == 2) for params in chosen)
    assert all(params["varied"] <= 5 * params["layers"] for params in chosen)
    assert [t.params for t in search.trials][: len(chosen)] == chosen


def test_what_some_member_chooses_from_other_values_is_not_mixed(monkeypatch):
    """Whichever member that is; their middle rate is that of all."""
    few, many = (
        optuna.distributions.IntDistribution(1, 4),
        optuna.distributions.IntDistribution(1, 9),
    )
    for odd in range(3):
        steps = [many if i == odd else few for i in range(3)]
        members = [
            SimpleNamespace(params=i, distributions={"width": many, "step": step})
            for i, step in enumerate(steps)
        ]
        drawn = list(zip(members, (0.1, 0.4, 0.2), strict=True))
        monkeypatch.setattr(scouts, "_fitting", lambda *_, drawn=drawn: iter(drawn))
        pool = scouts._pooled(None, None)
        assert (pool.members, pool.rate, pool.choices) == ([0, 1, 2], 0.2, {"width": many})


@pytest.mark.parametrize(("number", "chosen"), [(3, [0, 3, 6]), (1, [0]), (9, list(range(7)))])
def test_the_front_is_proposed_from_the_best_to_the_cheapest(number, chosen):
    trials = [SimpleNamespace(values=[1 - n / 10, n], n=n) for n in (4, 0, 6, 2, 5, 1, 3)]
    known, proposed = {}, []
    study = SimpleNamespace(best_trials=trials, user_attrs=known, set_user_attr=known.__setitem__)
    sent = SimpleNamespace(
        store=SimpleNamespace(study=study), choices_of=lambda trial: {"n": trial.n}
    )
    search_study = SimpleNamespace(trials=[], enqueue_trial=lambda params: proposed.append(params))
    scouts._propose(sent, SimpleNamespace(study=search_study), number)
    assert [params["n"] for params in proposed] == chosen
    search_study.trials = [None]  # one is there already: it was killed in between
    scouts._propose(sent, SimpleNamespace(study=search_study), number)
    assert [params["n"] for params in proposed] == [*chosen, *chosen[1:]]


def test_as_many_of_the_front_are_proposed_as_there_are_trials(light, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(scouts, "_propose", lambda sent, store, number: asked.append(number))
    search_networks(dense, blobs(), tmp_path, replace(FEWEST, trials=2))
    assert asked == [2]


def test_generations_are_a_quarter_of_the_scouts():
    assert [scouts._population(n) for n in (1, 8, 40, 160, 9_000)] == [2, 2, 10, 40, 40]


def test_the_pool_is_the_first_generation(found):
    _, sent = studies(found[0])
    pool = sent.user_attrs["pool"]
    assert len(pool) == 5
    assert [t.params for t in sent.trials[:2]] == pool[:2]


def test_shared_weights_and_folds_exclude_each_other():
    with pytest.raises(DataError) as error:
        SearchSetting(DeviceBudget(arena=60), share=3, folds=2)
    assert error.value.problem == "2 folds beside shared weights"


def test_a_study_without_scouts_is_another(tmp_path):
    one = replace(QUICK, trials=1, epochs=1)
    assert search_networks(dense, blobs(), tmp_path, one).scout_ends == {}
    with pytest.raises(DataError, match=r"of another search, with shared \[\]"):
        search_networks(dense, blobs(), tmp_path, replace(one, share=2), resume=True)


@pytest.mark.parametrize("other", [{"share": 4}, {"scouts": 8}])
def test_a_study_of_other_shared_weights_or_scouts_is_another(other):
    """Without shared weights there are no scouts."""
    problem = Problem.of(blobs())
    facts = [replace(one, **other).facts("dense", problem) for one in (FEW, replace(FEW, share=0))]
    assert facts[0] != FEW.facts("dense", problem)
    assert (facts[1] == replace(FEW, share=0).facts("dense", problem)) is ("share" not in other)


def test_who_has_no_costs_or_too_high_ones_is_not_drawn_on(monkeypatch):
    drawn = [(SimpleNamespace(params=i), rate) for i, rate in enumerate((0.1, 0.2, 0.3, 0.4))]
    outlines = [
        Failure("no"),
        Outline("", None, "no int8 form"),
        Outline("a", 900),
        Outline("b", 5),
    ]
    monkeypatch.setattr(scouts, "_drawn", lambda funnel: iter(drawn))
    monkeypatch.setattr(scouts, "_member", lambda funnel, params, *_: params)
    monkeypatch.setattr(scouts, "_all", lambda crew, tasks: outlines)
    monkeypatch.setattr(scouts, "least_costs", lambda costs: costs)
    monkeypatch.setattr(scouts, "beyond", lambda costs, limits: costs > limits)
    funnel = SimpleNamespace(setting=SimpleNamespace(budget=SimpleNamespace(limits=100)))
    assert list(scouts._fitting(funnel, SimpleNamespace(slots=4))) == drawn[3:]


def test_what_becomes_of_tasks_is_in_their_order_whichever_ends_first():
    begun = []
    crew = SimpleNamespace(begin=lambda owner, _: begun.append(owner))
    crew.finished = lambda: ((owner := begun.pop()), f"of {owner}")
    assert scouts._all(crew, [Task(str, ())] * 3) == ["of 0", "of 1", "of 2"]
