"""Searches that begin with choices by hand, or with what an earlier search has found."""

import json
from dataclasses import replace

import pytest

from tests.search.made import QUICK, blobs, dense
from tinyrt.errors import DataError
from tinyrt.search import search_networks
from tinyrt.search.designs import designs_in
from tinyrt.search.store import End

pytest.importorskip("optuna")

FIRST = {"width": 8, "rate": 0.02}
FEW = replace(QUICK, trials=3, epochs=1)


def test_the_first_trials_are_those_that_are_given(tmp_path):
    given = FIRST, {"width": 12}
    found = search_networks(dense, blobs(), tmp_path / "one", FEW, begin=given)
    params = {point.trial: point.params for point in found.front}
    assert [r.end for n, r in found.records.items() if n < 2] == [End.TRAINED] * 2
    assert params.get(0, FIRST) == FIRST
    assert params.get(1, {"width": 12})["width"] == 12
    assert params.keys() & {0, 1}
    more = replace(FEW, trials=4)
    again = search_networks(dense, blobs(), tmp_path / "one", more, resume=True, begin=given)
    assert again.records[3].end is not End.REPEATED, "what it began with is not proposed again"
    front = tmp_path / "one" / "front.json"
    assert designs_in(front) == tuple(point.params for point in again.front)
    other = search_networks(dense, blobs(), tmp_path / "two", FEW, begin=front)
    assert other.records[0].structure == again.records[again.front[0].trial].structure


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({**FIRST, "depth": 3}, "depth 3"),
        ({**FIRST, "width": 18}, "width 18"),
        ({**FIRST, "width": 100}, "width 100"),
    ],
)
def test_choices_that_the_space_does_not_have_fail(given, told, tmp_path):
    found = search_networks(dense, blobs(), tmp_path, replace(FEW, trials=1), begin=[given])
    record = found.records[0]
    assert (record.end, record.stage) == (End.FAILED, "shape")
    assert record.reason == f"it was to begin with {told}, which the space does not choose"


@pytest.mark.parametrize(
    "text", ["[1]", "[{}, 1]", "{}", "{", '{"front": [2]}', "7", "[" * 100_000]
)
def test_files_without_choices(text, tmp_path):
    path = tmp_path / "designs.json"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        designs_in(path)
    assert error.value.problem.startswith("the file has no choices to begin with: ")
    assert error.value.file == str(path)
    assert error.value.expected == "a list of choices by name, or front.json of an earlier search"
    assert error.value.hint.startswith('[{"stem": 16, "blocks": 2}]')


def test_a_list_is_taken_as_it_is(tmp_path):
    path = tmp_path / "designs.json"
    path.write_text(json.dumps([FIRST, {}]))
    assert designs_in(path) == (FIRST, {})
    with pytest.raises(DataError, match="FileNotFoundError"):
        designs_in(tmp_path / "none.json")
