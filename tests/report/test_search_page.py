"""The page of ``tinyrt search --html``: the drawing, and what is counted."""

import re
from dataclasses import replace

import optuna
import pytest

from tests.search.made import QUICK, blobs, dense
from tinyrt.report.search_page import (
    COSTS,
    HEIGHT,
    MARGIN,
    WIDTH,
    dots,
    refusals,
    write_search_page,
)
from tinyrt.search import search_networks, store
from tinyrt.search.store import End

FOUND = {
    "space": "mine<b>",
    "core": "cortex-m4",
    "measure": "accuracy",
    "limits": {"arena": 60, "flash": 900},
    "objectives": ["arena"],
    "trials": 7,
    "ends": {"trained": 3, "refused": 3, "failed": 1, "stopped": 0},
    "importance": {"accuracy": {"rate": 0.75, "width": 0.25}},
    "front": [
        {
            "trial": 2,
            "score": 0.9,
            "loss": 0.31416,
            "costs": {"arena": 20, "flash": 800},
            "params": {"width": 4, "rate": 0.0123456},
            "test": 0.85,
            "emulated": {"samples": 2, "agrees": False, "instructions": 7},
        }
    ],
    "trained": [
        {"trial": 0, "score": 0.5, "costs": {"arena": 60}},
        {"trial": 2, "score": 0.9, "costs": {"arena": 20}},
        {"trial": 3, "score": 0.7, "costs": {"arena": 40}},
    ],
    "not_trained": [
        {"trial": 1, "end": "refused", "stage": "plan", "costs": {"arena": 61}},
        {"trial": 4, "end": "refused", "stage": "cost", "costs": {"arena": 61, "flash": 901}},
        {"trial": 5, "end": "refused", "stage": "shape", "costs": None},
        {"trial": 6, "end": "failed", "stage": "training", "costs": {"arena": 60, "flash": 900}},
    ],
}


def test_each_model_is_a_dot_and_the_front_lies_on_top():
    drawn = dots(FOUND, "arena")
    assert [(d.x, d.y, d.is_front) for d in drawn] == [
        (WIDTH - MARGIN, HEIGHT - MARGIN, False),
        (WIDTH / 2, pytest.approx(HEIGHT / 2), False),
        (MARGIN, MARGIN, True),
    ]
    assert drawn[2].title == "trial 2: accuracy 0.9, arena 20"
    alone = {**FOUND, "trained": FOUND["trained"][:1]}
    assert [(d.x, d.y) for d in dots(alone, "arena")] == [(MARGIN, HEIGHT - MARGIN)]
    assert dots({**FOUND, "trained": []}, "arena") == []


def test_what_ended_trials_is_counted_limit_by_limit():
    assert refusals(FOUND) == [
        ("refused", "arena", 2),
        ("refused", "flash", 1),
        ("refused", "shape", 1),
        ("failed", "training", 1),
    ]


@pytest.mark.parametrize("end", End)
def test_limits_count_where_costs_ended_a_trial(end):
    """Before training or behind it; others are beyond a limit by the way."""
    trial = {"trial": 1, "end": end.value, "stage": "look", "costs": {"arena": 61, "flash": 900}}
    by = "arena" if end in (End.REFUSED, End.MISFIT) else "look"
    assert refusals({**FOUND, "not_trained": [trial]}) == [(end.value, by, 1)]


def test_the_page_says_it_all_and_stands_alone(tmp_path):
    page = write_search_page(FOUND, tmp_path / "p.html").read_text()
    assert "mine<b>" not in page
    assert re.search(r"<h1>mine.* on cortex-m4</h1>", page)
    assert len(re.findall("<circle ", page)) == 3
    assert '<td class="n">0.9</td><td class="n">0.3142</td><td class="n">20</td>' in page
    assert '<td class="n">20</td><td class="n">800</td>' in page
    earlier = {**FOUND, "front": [{**FOUND["front"][0], "loss": None}]}
    without = write_search_page(earlier, tmp_path / "o.html").read_text()
    assert '<td class="n">0.9</td><td class="n">-</td><td class="n">20</td>' in without
    errors = {**FOUND, "measure": "error"}
    assert "0.3142" not in write_search_page(errors, tmp_path / "e.html").read_text()
    assert '<td class="n">0.85</td><td>differs</td><td>width 4, rate 0.01235</td>' in page
    assert '<td>rate</td><td class="n">75 %</td>' in page
    assert '<td>refused</td><td>arena</td><td class="n">2</td>' in page
    assert "<b>3</b>refused" in page
    assert "stopped" not in page
    assert not re.search(r"""(src|href)="(?!data:,")|https?://""", page), "nothing is loaded"
    few = write_search_page({**FOUND, "importance": {}}, tmp_path / "q.html").read_text()
    assert "Too few models are trained to tell." in few


@pytest.mark.parametrize("name", COSTS)
def test_each_cost_that_some_model_has_is_a_column(name, tmp_path):
    first = FOUND["front"][0]
    front = [{**first, "costs": {name: 1234}}, {**first, "costs": {}}]
    for points in (front, front[::-1]):
        page = write_search_page({**FOUND, "front": points}, tmp_path / "p.html").read_text()
        assert re.findall(r'<th class="n">(\w+)</th>', page)[3:-3] == [name]
        assert page.count('<td class="n">1,234</td>') == page.count('<td class="n">–</td>') == 1


@pytest.mark.filterwarnings("ignore:PedAnova")
def test_the_choice_that_matters_has_the_greatest_share(tmp_path):
    result = search_networks(dense, blobs(), tmp_path, replace(QUICK, trials=2))
    assert result.importance == {}
    assert result.as_dict()["limits"] == {"arena": 60}
    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=0)
    )
    rungs = optuna.create_study()
    path = tmp_path / "empty"
    kept = store.Store(study, rungs, "formula", path, 0)
    for number in range(40):
        trial = study.ask()
        rate, width = trial.suggest_float("rate", -1, 1), trial.suggest_int("width", 1, 64)
        trial.set_user_attr(store.RECORD, {"end": "trained", "stage": "int8"})
        study.tell(trial, [-abs(rate), float(width)])
        if number == 8:
            assert (
                store.Store(study, rungs, "formula", path, 0).importance(("score", "arena")) == {}
            )
    found = kept.importance(("score", "arena"))
    assert list(found) == ["score", "arena"]
    assert list(found["score"]) == ["rate", "width"]
    assert list(found["arena"]) == ["width", "rate"]
    assert found["score"]["rate"] > 0.8 < found["arena"]["width"]
