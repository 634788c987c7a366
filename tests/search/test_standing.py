"""The line that says how a search stands."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import pytest

from tests.search.made import QUICK, blobs, dense
from tinyrt.search import search_networks
from tinyrt.search.front import in_order
from tinyrt.search.standing import Standing
from tinyrt.search.store import End, Record

pytest.importorskip("optuna")

LIMITS = {"arena": 100, "flash": 2_000}


def record(end, score=None, **costs):
    return Record(end, "int8", costs=costs or None, score=score)


def test_the_best_and_what_refused_how_many():
    standing = Standing(LIMITS)
    assert standing.line() == ""
    for each in (
        record(End.REFUSED, arena=101, flash=2_001),
        record(End.REFUSED, arena=100, flash=2_500, code=9_999),
        record(End.REFUSED),
    ):
        standing.add(each)
    assert standing.line() == "3 refused (flash 2, arena 1, shape 1)"
    for end in (End.STOPPED, End.STOPPED, End.FAILED, End.REPEATED, End.MISFIT):
        standing.add(record(end, 0.99, arena=1))
    told = "3 refused (flash 2, arena 1, shape 1); 1 misfit; 2 stopped; 1 repeated; 1 failed"
    assert standing.line() == told
    for score, arena in ((0.5, 90), (0.975, 80), (0.975, 70), (0.9, 60)):
        standing.add(record(End.TRAINED, score, arena=arena, flash=1_234, code=7))
    assert standing.line() == f"best 97.50 % (arena 80, flash 1,234); {told}"
    few = Standing(LIMITS | {"instructions": 9})
    few.add(record(End.TRAINED, 0.0, arena=3))
    assert few.line() == "best 0.00 % (arena 3)"


def test_errors_of_values_are_told_above_zero():
    standing = Standing({"arena": 10})
    for score in (-0.5, -0.25, -0.75):
        standing.add(record(End.TRAINED, score, arena=5))
    assert standing.line() == "best 0.25 (arena 5)"


def test_a_study_that_goes_on_tells_what_it_has(tmp_path):
    few, seen = replace(QUICK, trials=2, epochs=1), []
    first = search_networks(dense, blobs(), tmp_path, few)
    more = replace(few, trials=3)
    whole = search_networks(
        *(dense, blobs(), tmp_path, more),
        resume=True,
        on_trial=lambda *told: seen.append(told),
    )
    assert [(done, total) for done, total, _ in seen] == [(1, 3), (2, 3), (3, 3)]
    assert [r for _, _, r in seen] == [*first.records.values(), whole.records[2]]


def test_of_equal_points_of_a_front_the_first_that_was_found_stands():
    values = [[0.5, 9], [0.7, 20], [0.5, 9], [0.7, 10], [0.9, 30], [0.7, 10]]
    trials = [SimpleNamespace(number=i, values=v) for i, v in enumerate(values)]
    assert [trial.number for trial in in_order(trials)] == [4, 3, 1, 0]


def test_a_front_has_the_best_score_first_and_of_equal_ones_the_cheaper():
    """In whatever order they were found."""
    wanted = [[0.9, 30, 1], [0.7, 10, 4], [0.7, 10, 5], [0.7, 20, 2], [0.5, 9, 9]]
    for values in permutations(wanted):
        assert [t.values for t in in_order([SimpleNamespace(values=v) for v in values])] == wanted
