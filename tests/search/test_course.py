"""A candidate's way without any work: what the choices of a search ask of workers; the front."""

from dataclasses import fields, replace
from types import SimpleNamespace

import optuna
import pytest

from tests.graphs import small_cnn
from tests.search.made import blobs, dense
from tinyrt.api.costs import Basis, ModelCost
from tinyrt.api.fitting import DeviceBudget
from tinyrt.cluster.tasks import Failure
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ShapeError
from tinyrt.search import Problem, SearchSetting, front, store
from tinyrt.search.checks import Checks
from tinyrt.search.funnel import Funnel, Start
from tinyrt.search.learning import Verdict
from tinyrt.search.order import Order
from tinyrt.search.run import Run
from tinyrt.search.source import space_source
from tinyrt.search.store import End, Record
from tinyrt.search.work import Deployed, Outline, Rung

BASE = SearchSetting(
    DeviceBudget("cortex-m0", arena=90, flash=900),
    *(7, ("arena",)),
    epochs=27,
    int8_epochs=4,
    seed=5,
    folds=2,
)
CHANGED = {
    "budget": DeviceBudget("cortex-m4", arena=90, flash=900),
    "objectives": ("arena", "flash"),
    "epochs": 30,
    "int8_epochs": 5,
    "seed": 6,
    "folds": 3,
    "share": 2,
}
ELSEWHERE = {"trials", "scouts"}
"""How many there are of each: ``Run`` and ``scouted`` count them."""

COST = ModelCost("cortex-m0", Basis.LINKED, 80, 500, 300, 4_000)
ANSWERS = {
    "outlined": Outline("graph", COST),
    "price": COST,
    "price_model": COST,
    "train": Rung(0.5, b"state"),
    "train_from": Rung(0.5, b"state"),
    "deploy": Deployed(Verdict(0.5, 1.0), 30, b"model"),
    "deploy_on": Deployed(Verdict(0.75, 0.2), 10, b"model"),
}


@pytest.fixture
def funnel_of(tmp_path):
    """Makes the funnel of a setting, with a study of its own."""
    opened = []

    def made(setting, start=None, pruner=None):
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        pruner = pruner or optuna.pruners.NopPruner()
        given = {}, setting.directions, setting.seed, pruner
        study = store.opened(folder / "study", *given, setting.basis.value, resume=False)
        opened.append(study)
        problem = Problem.of(blobs(), 0.2, 0)
        return Funnel(space_source(dense), problem, setting, study.__enter__(), folder, start)

    yield made
    for study in opened:
        study.__exit__(None, None, None)


def gone(funnel, answers=ANSWERS, trial=None):
    """What workers are asked for on a trial's way, and its end."""
    course, result, asked = funnel.course(trial or funnel.ask()), None, []
    while True:
        try:
            task = course.send(result)
        except StopIteration as stop:
            return asked, stop.value
        asked.append((task.work.__name__, task.arguments))
        result = answers[task.work.__name__]


def test_an_order_has_the_search_s_own_numbers(funnel_of):
    start = Start(b"weights", 0.125)
    funnel = funnel_of(BASE, start)
    (_, (order,)), *others = gone(funnel)[0]
    expected = {
        "space": funnel.space,
        "params": order.params,
        "seed": order.seed,
        "core": "cortex-m0",
        "epochs": 27,
        "int8_epochs": 4,
        "rate": 0.125,
    }
    assert expected == {field.name: getattr(order, field.name) for field in fields(Order)}
    assert order.params.keys() == {"width", "rate"}
    orders = [one for _, given in others for one in given if isinstance(one, Order)]
    assert orders == [order] * len(others)
    seeds = {gone(funnel)[0][0][1][0].seed for _ in range(4)}
    assert len(seeds | {order.seed}) == 5


def told(funnel):
    asked, ended = gone(funnel)
    shown = [(name, [str(g) for g in given if not isinstance(g, bytes)]) for name, given in asked]
    return shown, ended.values


@pytest.mark.parametrize("name", [f.name for f in fields(SearchSetting)])
def test_every_choice_changes_what_is_asked_for(funnel_of, name):
    if name in ELSEWHERE:
        assert Run(funnel_of(replace(BASE, trials=9)), None, None).total == 9
        return
    plain = BASE if name != "share" else replace(BASE, folds=1)
    assert told(funnel_of(replace(plain, **{name: CHANGED[name]}))) != told(funnel_of(plain))


def test_training_goes_from_rung_to_rung_and_folds_count_by_their_samples(funnel_of):
    asked, ended = gone(funnel_of(BASE))
    trained = [given[1:] for name, given in asked if name == "train"]
    assert trained == [(3, None), (9, b"state"), (27, b"state")]
    assert [given[1] for name, given in asked if name == "deploy_on"] == [1, None]
    assert ended.record.score == (30 * 0.5 + 10 * 0.75) / 40
    assert ended.record.loss == (30 * 1.0 + 10 * 0.2) / 40
    assert ended.values == [Verdict(ended.record.score, ended.record.loss).quality, 80]
    assert ended.record.costs["flash"] == 800


def test_the_sampler_is_told_of_costs_as_built_and_of_an_outline_that_is_too_large(funnel_of):
    funnel = funnel_of(BASE)
    for answers in (
        {},
        {"outlined": Outline("wide", replace(COST, arena=99))},
        {"outlined": Outline("long", COST), "price": replace(COST, code=490)},
    ):
        gone(funnel, ANSWERS | answers)
    assert [trial.constraints for trial in funnel.store.study.trials] == [
        {"arena": 80 / 90 - 1, "flash": 800 / 900 - 1},
        {"arena": 99 / 90 - 1, "flash": 500 / 900 - 1},
        {"arena": 80 / 90 - 1, "flash": 990 / 900 - 1},
    ]


FORMULA = replace(COST, basis=Basis.FORMULA, code=None)
BY_FORMULA = {"arena": 80, "weights": 500, "instructions": 4_000}
AS_BUILT = {"arena": 80, "weights": 500, "code": 300, "flash": 800, "instructions": 4_000}
NO = Failure("no")


def with_arena(known, nbytes):
    return replace(known, arena=nbytes)


REFUSED, FAILED, MISFIT, TRAINED = End.REFUSED, End.FAILED, End.MISFIT, End.TRAINED
FIVE = ["outlined", "price", "train", "deploy", "price_model"]
ENDS = {
    "no graph": ({"outlined": NO}, 1, (FAILED, "shape", "no", None, "", ""), []),
    "no plan": (
        {"outlined": Outline("g", None, "no")},
        *(1, (REFUSED, "shape", "no", None, "g", ""), []),
    ),
    "a large plan": (
        {"outlined": Outline("g", replace(FORMULA, arena=91, weights=0))},
        *(1, (REFUSED, "plan", "arena 91 of 90", BY_FORMULA | {"arena": 91, "weights": 0}, "g",
              "formula"), []),
    ),
    "no code": ({"price": NO}, 2, (FAILED, "cost", "no", BY_FORMULA, "g", "formula"), []),
    "large code": (
        {"price": replace(COST, code=401, arena=90)},
        *(2, (REFUSED, "cost", "flash 901 of 900",
              AS_BUILT | {"arena": 90, "code": 401, "flash": 901}, "g", "linked"), []),
    ),
    "no training": ({"train": NO}, 3, (FAILED, "training", "no", AS_BUILT, "g", "linked"), []),
    "no integers": ({"deploy": NO}, 4, (FAILED, "int8", "no", AS_BUILT, "g", "linked"), ["state"]),
    "no figures": (
        {"price_model": NO},
        *(5, (FAILED, "int8", "no", AS_BUILT, "g", "linked"), ["state"]),
    ),
    "large once trained": (
        {"price_model": with_arena(COST, 91)},
        *(5, (MISFIT, "int8", "arena 91 of 90", AS_BUILT | {"arena": 91}, "g", "linked"),
          ["state"]),
    ),
    "as large as may be": (
        {"price_model": with_arena(COST, 90)},
        *(5, (TRAINED, "int8", "", AS_BUILT | {"arena": 90}, "g", "linked"), ["state", "model"]),
    ),
}  # fmt: skip
"""What workers answer; how many are asked; how it ends, without scores; the files that are left."""


@pytest.mark.parametrize("name", ENDS)
def test_a_trial_ends_where_something_is_amiss_and_leaves_what_it_came_to(funnel_of, name):
    answers, count, (end, stage, reason, costs, structure, basis), left = ENDS[name]
    funnel = funnel_of(replace(BASE, epochs=1, folds=1))
    asked, ended = gone(funnel, ANSWERS | {"outlined": Outline("g", FORMULA)} | answers)
    scores = (0.5, 1.0) if end is TRAINED else (None, None)
    assert ended.record == Record(end, stage, reason, costs, *scores, structure, basis)
    assert [task for task, _ in asked] == FIVE[:count]
    assert ended.values == (None if end is not TRAINED else [Verdict(0.5, 1.0).quality, 90])
    files = {path.name: path.read_bytes() for path in funnel.folder.glob("0*")}
    made = {"state": ("00000.state.npz", b"state"), "model": ("00000.tflite", b"model")}
    assert files == dict(made[kind] for kind in left)
    assert rungs_of(funnel) == ([] if count < 3 else ["PRUNED"] if left else ["FAIL"])


def rungs_of(funnel):
    """The states of what Optuna compares: trials in training."""
    storage = funnel.store.study._storage
    return [t.state.name for t in optuna.load_study(study_name="rungs", storage=storage).trials]


def test_a_trial_that_is_worse_than_others_stops_in_training(funnel_of):
    funnel = funnel_of(BASE, pruner=optuna.pruners.ThresholdPruner(lower=0.6, n_warmup_steps=5))
    asked, ended = gone(funnel)
    assert [given[1] for name, given in asked if name == "train"] == [3, 9]
    record = Record(End.STOPPED, "training", "score 0.5 after 9 epochs", AS_BUILT)
    assert ended.record == replace(record, structure="graph", basis="linked")
    assert (ended.values, rungs_of(funnel)) == (None, ["PRUNED"])


@pytest.mark.parametrize(("limit", "held"), [(None, 0), (4_000, 0), (3_999, 1)])
def test_an_exit_is_held_to_a_limit_that_it_does_not_hold_itself(funnel_of, limit, held):
    budget = replace(BASE.budget, instructions=limit)
    leaving = replace(ANSWERS["deploy"], leaves=True)
    answers = ANSWERS | {"deploy": leaving, "hold_limit": (leaving, replace(COST, instructions=9))}
    answers |= {"outlined": Outline("graph", replace(COST, instructions=99)), "price": CHEAP}
    asked, ended = gone(funnel_of(replace(BASE, budget=budget, folds=1)), answers)
    assert [name for name, _ in asked].count("hold_limit") == held
    assert ended.record.end is End.TRAINED


CHEAP = replace(COST, instructions=99)


@pytest.mark.parametrize(
    ("error", "end"), [(ShapeError("no"), End.REFUSED), (KeyError("no"), End.FAILED)], ids=str
)
def test_what_the_space_refuses_is_told_from_its_faults(funnel_of, error, end):
    def refusing(trial, problem, rng):
        raise error

    funnel = replace(funnel_of(BASE), space=space_source(refusing))
    asked, ended = gone(funnel)
    assert (asked, ended.record.end, ended.record.stage) == ([], end, "shape")
    assert ended.record.reason.startswith(type(error).__name__)


class Several:
    """Three workers, of whom the one that began last is done first."""

    slots = 3

    def __init__(self):
        self.begun, self.most = {}, 0

    def begin(self, owner, task):
        self.begun[owner] = ANSWERS[task.work.__name__]
        self.most = max(self.most, len(self.begun))

    def finished(self):
        return self.begun.popitem()


@pytest.mark.parametrize("trials", [2, 3, 4, 7])
def test_as_many_trials_are_begun_as_were_asked_for_however_many_work(funnel_of, trials):
    funnel, crew, told = funnel_of(replace(BASE, trials=trials)), Several(), []
    Run(funnel, crew, lambda *of: told.append(of[:2])).all()
    assert len(funnel.store.study.trials) == len(funnel.store.records()) == trials
    assert told == [(n, trials) for n in range(1, trials + 1)]
    assert crew.most == min(trials, 3)
    Run(funnel, crew, lambda *of: told.append(of[:2])).all()  # there is nothing left
    assert told == [(n, trials) for n in range(1, trials + 1)] * 2


def test_a_state_without_scores_in_the_study_is_another_study_s(funnel_of):
    funnel = funnel_of(BASE)
    funnel.state_file(0).write_bytes(b"another's")
    asked, _ = gone(funnel)
    assert next(given for name, given in asked if name == "train")[1:] == (3, None)


ALL = [(3, None), (9, b"state"), (27, b"state")]


@pytest.mark.parametrize("scored", [1, 2, 3])
@pytest.mark.parametrize("is_there", [True, False])
def test_training_goes_on_behind_its_scores_only_with_its_state(funnel_of, is_there, scored):
    funnel = funnel_of(BASE)
    trial = funnel.ask()
    ladder = funnel.store.ladder(trial.number)
    for step in (3, 9, 27)[:scored]:
        ladder.stops(0.5, step)
    (known,) = funnel.store._rungs.get_trials()
    funnel.store._ladders[trial.number] = known
    if is_there:
        funnel.state_file(trial.number).write_bytes(b"state")
    asked, ended = gone(funnel, trial=trial)
    assert [given[1:] for name, given in asked if name == "train"] == ALL[scored * is_there :]
    assert ended.record.end is End.TRAINED


def test_of_equal_models_the_first_one_is_in_the_front_and_the_best_comes_first(
    funnel_of, monkeypatch
):
    funnel = funnel_of(replace(BASE, objectives=("arena",)))
    study, content = funnel.store, write_tflite(small_cnn())
    scores = ((0.5, 60), (0.75, 80), (0.5, 60), (0.75, 90), (0.25, 50), (0.75, 80))
    for score, arena in scores:
        trial = study.study.ask()
        record = Record(End.TRAINED, "int8", "", {"arena": arena}, score, 1 - score)
        study.end(trial, record, [score, arena])
        funnel.model_file(trial.number).write_bytes(content)
    monkeypatch.setattr(Funnel, "deployment", lambda self, trial: SimpleNamespace(options=None))
    exported = []
    monkeypatch.setattr(front, "export_c", lambda model, *_, **by: exported.append((model, by)))
    folder = funnel.folder
    found = front.write_front(
        *(funnel, study, folder, folder / "study", Checks(funnel.problem)), {}
    )
    assert [(p.trial, p.score, p.loss, p.costs["arena"]) for p in found.front] == [
        (1, 0.75, 0.25, 80),
        (0, 0.5, 0.5, 60),
        (4, 0.25, 0.75, 50),
    ]
    assert [model for model, _ in exported] == [p.model for p in found.front]
    assert (found.agrees, found.measure) == (True, "accuracy")
    funnel = replace(funnel, problem=Problem.of({"x": blobs()["x"]}))
    again = front.write_front(
        *(funnel, study, folder, folder / "study", Checks(funnel.problem)), {}
    )
    assert again.measure == "error"
    assert {by["core"] for _, by in exported} == {"cortex-m0"}
