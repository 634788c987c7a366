"""A search from end to end, in this process: who is refused when, and what is found."""

import json
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import optuna
import pytest

import tinyrt
from tests.search.made import ARENA, FILE, QUICK, blobs, dense, problem
from tinyrt.api.costs import Basis, ModelCost, cost
from tinyrt.api.fitting import DeviceBudget
from tinyrt.cluster.workers import Here
from tinyrt.errors import DataError, ToolError, UnsupportedError
from tinyrt.search import SearchSetting, funnel, learning, search, search_networks, work
from tinyrt.search.candidate import untrained
from tinyrt.search.store import End
from tinyrt.train.nn import Linear, Module, Sequential


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A search, its folder, and how many samples each training saw."""
    folder, trained = tmp_path_factory.mktemp("search"), []
    with pytest.MonkeyPatch.context() as patched:
        fit = learning.fit

        def counted(module, *arguments, **options):
            trained.append(module.layers["hidden"].weight.shape[0])
            return fit(module, *arguments, **options)

        patched.setattr(learning, "fit", counted)
        seen = []
        result = search_networks(
            dense, blobs(), folder, QUICK, on_trial=lambda *of: seen.append(of)
        )
    return result, folder, trained, seen


def test_what_does_not_fit_is_never_trained(found):
    result, _, trained, _ = found
    assert len(result.records) == QUICK.trials
    assert result.ends["refused"] > 0 < result.ends["trained"]
    refused = [r for r in result.records.values() if r.end is End.REFUSED]
    assert all(r.costs["arena"] > 60 and r.stage == "plan" for r in refused)
    assert all(r.reason == f"arena {r.costs['arena']:,} of 60" for r in refused)
    assert max(trained) <= 48
    assert result.refused_early == 1


def test_what_builds_goes_to_workers_that_can(tmp_path, monkeypatch):
    asked = set()
    begin = Here.begin

    def noted(crew, owner, task):
        asked.add((task.work.__name__, task.builds))
        begin(crew, owner, task)

    monkeypatch.setattr(Here, "begin", noted)
    search_networks(dense, blobs(), tmp_path, replace(QUICK, trials=4, epochs=2))
    building = {("price", True), ("price_model", True)}
    assert asked == building | {("outlined", False), ("train", False), ("deploy", False)}


def test_the_sampler_is_told_how_far_costs_are_from_the_limits(found):
    result, folder, _, _ = found
    backend = optuna.storages.journal.JournalFileBackend(str(folder / "study.log"))
    storage = optuna.storages.JournalStorage(backend)
    for trial in optuna.load_study(study_name="search", storage=storage).trials:
        record = result.records[trial.number]
        assert trial.constraints == {"arena": record.costs["arena"] / 60 - 1}
        assert (trial.constraints["arena"] > 0) == (record.end is End.REFUSED)


def test_each_point_is_a_model_that_fits_and_a_c_project(found):
    result, folder, _, _ = found
    costs = [(-p.score, p.costs["arena"]) for p in result.front]
    assert len(set(costs)) == len(costs) > 0
    for point in result.front:
        assert cost(point.model).arena == point.costs["arena"] <= 60
        assert (point.project / "model.c").exists()
        held = problem().parts[1]
        right = tinyrt.evaluate(point.model, problem().x[held], labels=problem().y[held])
        assert right.top1 == pytest.approx(point.score)
        others = [c for c in costs if c != (-point.score, point.costs["arena"])]
        assert not any(c[0] <= -point.score and c[1] <= point.costs["arena"] for c in others)
    assert json.loads((folder / "front.json").read_text()) == result.as_dict()
    assert not list(folder.glob("trials/*.state.npz"))


def test_progress_is_told_trial_by_trial(found):
    result, _, _, seen = found
    assert [done for done, _, _ in seen] == list(range(1, QUICK.trials + 1))
    assert {total for _, total, _ in seen} == {QUICK.trials}
    assert [record for _, _, record in seen] == [result.records[n] for n in sorted(result.records)]


def test_samples_to_choose_by_are_drawn_by_the_seed_as_many_as_are_asked_for(tmp_path):
    seen = set()

    def noting(trial, problem, rng):
        seen.add((problem.seed, problem.validation))
        return dense(trial, problem, rng)

    one = replace(QUICK, trials=1, epochs=1, seed=5)
    search_networks(noting, blobs(), tmp_path, one, validation=0.3)
    assert seen == {(5, 0.3)}


@pytest.mark.whole
def test_the_same_seed_is_the_same_search(found, tmp_path):
    result, _, _, _ = found
    again = search_networks(dense, blobs(), tmp_path, QUICK)
    assert again.records == result.records
    assert [p.params for p in again.front] == [p.params for p in result.front]
    models = [[p.model.read_bytes() for p in r.front] for r in (result, again)]
    assert models[0] == models[1]
    other = search_networks(dense, blobs(), tmp_path / "other", replace(QUICK, trials=2, seed=1))
    assert other.records[0] != result.records[0]


def test_a_study_goes_on_for_more_trials_as_if_it_had_never_stopped(found, tmp_path):
    few = search_networks(dense, blobs(), tmp_path, replace(QUICK, trials=3))
    more = search_networks(dense, blobs(), tmp_path, QUICK, resume=True)
    assert [more.records[n] for n in range(3)] == [few.records[n] for n in range(3)]
    assert len(more.records) == QUICK.trials
    widths = [t for t in more.records.values() if t.costs]
    assert len({r.structure for r in widths}) > 3
    assert more.ends["repeated"] == 0, "it does not begin again"


class Infinite(Module):
    def __init__(self, rng):
        self.out = Linear(12, 3, rng=rng)

    def forward(self, x):
        return self.out(x) * (float("inf") if self.training else 1.0)


def faulty(trial, problem, rng):
    """Each way to fail, one after the other."""
    kind = trial.number % 5
    trial.suggest_int("width", 1, 9**6)
    if kind == 0:
        raise KeyError("mine")
    if kind == 1:
        return Sequential(out=Linear(7, 3, rng=rng))
    if kind == 2:
        return Infinite(rng)
    return Sequential(out=Linear(12, 3, rng=rng))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_trial_that_fails_is_listed_and_the_others_go_on(tmp_path):
    result = search_networks(
        lambda trial, problem, rng: faulty(_Numbered(trial), problem, rng),
        blobs(),
        tmp_path,
        replace(QUICK, trials=5),
    )
    records = result.records
    assert (records[0].end, records[0].stage) == (End.FAILED, "shape")
    assert records[0].reason == "KeyError: 'mine'"
    assert (records[1].end, records[1].stage) == (End.REFUSED, "shape")
    assert records[1].reason.startswith("ShapeError: ")
    assert (records[2].end, records[2].stage) == (End.FAILED, "training")
    assert "is not finite any more" in records[2].reason
    assert End.TRAINED in {records[3].end, records[4].end}
    shown = {t["trial"]: t["reason"] for t in result.as_dict()["not_trained"]}
    assert shown[0] == "KeyError: 'mine'"


class _Numbered:
    """A trial that says its number again when it is built from its choices."""

    count = 0

    def __init__(self, trial):
        self._trial = trial
        self.number = trial.suggest_int("number", _Numbered.count % 5, _Numbered.count % 5)
        _Numbered.count += hasattr(trial, "study")

    def suggest_int(self, *arguments):
        return self._trial.suggest_int(*arguments)


def test_the_same_choices_are_not_trained_twice(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE.replace("0, 999999", "0, 0"))
    result = search_networks(f"{path}:flat", blobs(), tmp_path, replace(QUICK, trials=3))
    ends = [result.records[n].end for n in range(3)]
    assert ends == [End.TRAINED, End.REPEATED, End.REPEATED]
    assert result.records[2].reason == "trial 0 has the same choices"
    assert result.refused_early is None


def priced(flash, instructions, asked):
    """Stands for a build: costs of the same graph are asked for once."""

    def find(model, core="cortex-m4", *, basis="formula", **options):
        known = cost(model, core, **options)
        if basis == "formula":
            return known
        asked.append(known.weights)
        code = flash - known.weights
        return ModelCost(core, Basis(basis), known.arena, known.weights, code, instructions)

    return find


def test_costs_are_found_once_for_a_graph_and_judged(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(work, "cost", priced(9_000, 70_000, asked))
    monkeypatch.setattr(work, "require_tools", lambda *_: None)
    monkeypatch.setattr(search, "require_tools", lambda *_: None)
    budget = DeviceBudget(flash=8_999, instructions=60_000)
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    setting = SearchSetting(budget, trials=4, epochs=1)
    result = search_networks(f"{path}:flat", blobs(), tmp_path, setting)
    assert {r.end for r in result.records.values()} == {End.REFUSED}
    assert {r.reason for r in result.records.values()} == {
        "flash 9,000 of 8,999, instructions 70,000 of 60,000"
    }
    assert len(asked) == 1
    search_networks(f"{path}:flat", blobs(), tmp_path, replace(setting, trials=6), resume=True)
    assert len(asked) == 1, "known from the file"


def test_a_price_that_cannot_be_found_ends_the_trial(monkeypatch, tmp_path):
    def failing(*_):
        raise ToolError("the linker is out of sorts")

    monkeypatch.setattr(funnel, "price", failing)
    monkeypatch.setattr(search, "require_tools", lambda *_: None)
    setting = SearchSetting(DeviceBudget(flash=9_000), trials=2, epochs=1)
    result = search_networks(dense, blobs(), tmp_path, setting)
    assert {(r.end, r.stage) for r in result.records.values()} == {(End.FAILED, "cost")}
    assert "the linker is out of sorts" in result.records[0].reason


def test_tools_are_looked_for_before_anything_is_proposed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    setting = SearchSetting(DeviceBudget(flash=9_000), trials=2, epochs=1)
    with pytest.raises(ToolError, match="not installed: arm-none-eabi-gcc"):
        search_networks(dense, blobs(), tmp_path, setting)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("workers", "times"), [(1, 1), (2, 0)])
def test_a_search_without_workers_keeps_its_memory(workers, times, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(search, "keep_memory", lambda: asked.append(1))

    @contextmanager
    def crew(shared, number, scheduler, on_dashboard):
        yield Here(shared) if number == 1 else SimpleNamespace(slots=0)

    monkeypatch.setattr(search, "workers_of", crew)
    search_networks(dense, blobs(), tmp_path, replace(QUICK, trials=1, epochs=1), workers=workers)
    assert len(asked) == times


def test_a_cluster_is_used_in_place_of_this_machine(monkeypatch, tmp_path):
    asked = []

    @contextmanager
    def crew(problem, number, scheduler, on_dashboard):
        asked.append((number, scheduler))
        on_dashboard("http://a:8787/status")
        yield Here(problem)

    monkeypatch.setattr(search, "workers_of", crew)
    monkeypatch.setattr(search, "require_tools", None)
    host = SearchSetting(DeviceBudget("host", arena=60), trials=1, epochs=1)
    result = search_networks(
        *(dense, blobs(), tmp_path, host),
        scheduler="tcp://a",
        workers=4,
        on_dashboard=asked.append,
    )
    assert asked == [(None, "tcp://a"), "http://a:8787/status"]
    assert result.records[0].costs.keys() == {"arena", "weights"}


def _untrained(order, of):
    return untrained(order.candidate(of), of).graph


def test_a_model_that_costs_more_once_trained_is_not_in_the_front(monkeypatch, tmp_path):
    def dearer(model, core, *, basis=None):
        known = cost(model, core)
        return known if basis is None else replace(known, arena=known.arena + 61)

    monkeypatch.setattr(work, "cost", dearer)
    monkeypatch.setattr(work, "price", lambda order, basis, of: cost(_untrained(order, of)))
    monkeypatch.setattr(funnel, "price", work.price)
    result = search_networks(dense, blobs(), tmp_path, replace(QUICK, trials=4))
    assert result.ends["misfit"] > 0
    assert result.front == ()
    assert result.refused_early < 1


def test_cycles_are_judged_as_told(monkeypatch, tmp_path):
    def find(model, core="cortex-m4", *, basis="formula", **options):
        known = cost(model, core, **options)
        if basis == "formula":
            return known
        return replace(known, basis=Basis(basis), code=9, instructions=500, cycles=700)

    asked = []
    monkeypatch.setattr(work, "cost", find)
    monkeypatch.setattr(work, "require_tools", lambda core, basis: asked.append(basis))
    monkeypatch.setattr(search, "require_tools", lambda core, basis: asked.append(basis))
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    setting = SearchSetting(DeviceBudget(cycles=699), trials=2, epochs=1)
    result = search_networks(f"{path}:flat", blobs(), tmp_path / "a", setting, workers=1)
    assert {r.reason for r in result.records.values()} == {"cycles 700 of 699"}
    assert set(asked) == {Basis.TIMED}


def test_cores_whose_cycles_are_not_known_are_refused():
    for core in ("host", "cortex-m23"):
        with pytest.raises(UnsupportedError, match=f"the cycles of {core} are not known"):
            SearchSetting(DeviceBudget(core, cycles=9))


WRONG = {
    "trials is 0": {"trials": 0},
    "epochs is 0": {"epochs": 0},
    "int8_epochs is 0": {"int8_epochs": 0},
    "seed is -1": {"seed": -1},
    "folds is 0": {"folds": 0},
    "share is -1": {"share": -1},
    "scouts is 0": {"scouts": 0},
    "objectives speed": {"objectives": ("speed",)},
    "objectives arena, arena": {"objectives": ("arena", "arena")},
    "instructions are not counted on host": {
        "budget": DeviceBudget("host", arena=1),
        "objectives": ("instructions",),
    },
}


@pytest.mark.parametrize("problem", WRONG)
def test_choices_out_of_range(problem):
    with pytest.raises(DataError) as error:
        SearchSetting(**{"budget": ARENA, **WRONG[problem]})
    assert error.value.problem == problem


def test_rungs_are_compared_at_a_third_and_a_ninth():
    rungs = {n: SearchSetting(ARENA, epochs=n).rungs for n in (1, 2, 9, 10, 30)}
    assert rungs == {1: (1,), 2: (1, 2), 9: (1, 3, 9), 10: (2, 6, 10), 30: (4, 12, 30)}
    assert SearchSetting(DeviceBudget("m0", flash=9)).basis is Basis.LINKED
    assert SearchSetting(ARENA, objectives=("instructions",)).basis is Basis.COUNTED
    assert SearchSetting(ARENA, objectives=("cycles", "instructions")).basis is Basis.TIMED
    assert SearchSetting(DeviceBudget("m0", cycles=9)).traded == ("cycles",)
    assert SearchSetting(ARENA).basis is Basis.FORMULA
    assert np.isclose(SearchSetting(ARENA).final_epochs, 6)
