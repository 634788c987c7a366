"""The front at its end: on samples that chose nothing, and on the core."""

from dataclasses import replace

import numpy as np
import pytest

from tests.search.made import QUICK, blobs, dense
from tinyrt.api.fitting import DeviceBudget
from tinyrt.api.models import evaluate
from tinyrt.errors import DataError, ToolError
from tinyrt.export import ExportOptions
from tinyrt.search import Problem, checks, search_networks
from tinyrt.search.checks import Checks, Emulated

TWO = replace(QUICK, trials=3)


def apart():
    """Samples of the same classes that the search does not see."""
    whole = blobs(150)
    return (
        {name: array[:90] for name, array in whole.items()},
        {name: array[90:] for name, array in whole.items()},
    )


@pytest.mark.device
def test_the_front_is_judged_by_the_test_and_emulated(tmp_path):
    data, test = apart()
    result = search_networks(dense, data, tmp_path, TWO, test=test, emulate=2)
    assert result.looks == 1
    assert result.agrees
    for point in result.front:
        assert point.test == pytest.approx(evaluate(point.model, test["x"], labels=test["y"]).top1)
        assert (point.emulated.samples, point.emulated.agrees) == (2, True)
        assert point.emulated.instructions > 1_000
        assert point.as_dict()["emulated"]["samples"] == 2
        assert point.as_dict()["test"] == point.test


def test_looks_at_the_test_are_counted_over_all_runs(tmp_path):
    data, test = apart()
    one = replace(TWO, epochs=1)
    first = search_networks(dense, data, tmp_path, one)
    assert first.looks == 0
    assert all(p.test is None and p.emulated is None for p in first.front)
    looks = [
        search_networks(dense, data, tmp_path, one, resume=True, **options).looks
        for options in ({"test": test}, {}, {"test": test})
    ]
    assert looks == [1, 1, 2]


def test_where_nothing_fits_the_test_is_not_looked_at(tmp_path):
    data, test = apart()
    tight = replace(TWO, budget=DeviceBudget(arena=1))
    found = search_networks(dense, data, tmp_path, tight, test=test)
    assert (found.front, found.looks) == ((), 0)


def test_what_differs_on_the_core_is_told(monkeypatch, tmp_path):
    asked = []

    def run(model, *, core, inputs, options):
        assert options == ExportOptions()
        asked.append((core, inputs))
        return type("Report", (), {"samples": 2, "agrees": False, "instructions": 7})

    monkeypatch.setattr(checks, "run_emulated", run)
    monkeypatch.setattr(checks, "front_end_of", lambda model: None)
    monkeypatch.setattr(checks, "threshold_of", lambda model: None)
    problem = Problem.of(blobs())
    found = Checks(problem, emulate=2).emulated(tmp_path, "cortex-m4")
    assert found == Emulated(2, False, 7)
    ((core, inputs),) = asked
    assert core == "cortex-m4"
    np.testing.assert_array_equal(inputs, problem.x[np.sort(problem.parts[1])[:2]])
    test = Problem.of(apart()[1])
    assert Checks(problem, test, 2).emulated(tmp_path, "cortex-m4") == found
    np.testing.assert_array_equal(asked[1][1], test.x[:2])


def test_errors_of_values_are_below_zero(monkeypatch, tmp_path):
    samples = {"x": blobs()["x"]}
    problem = Problem.of(samples)
    monkeypatch.setattr(checks, "front_end_of", lambda model: None)
    monkeypatch.setattr(checks, "answers_of", lambda model, x: x + 2)
    assert Checks(problem, problem).tested(tmp_path) == pytest.approx(-4, rel=1e-5)


WRONG = {
    r"samples \[9\] with 3 classes": {"x": np.ones((30, 9)), "y": np.arange(30) % 3},
    r"samples \[12\] with 4 classes": {"x": np.ones((40, 12)), "y": np.arange(40) % 4},
    r"samples \[12\] with 12 values": {"x": np.ones((30, 12))},
}


@pytest.mark.parametrize("said", WRONG)
def test_a_test_of_another_problem_is_refused(said, tmp_path):
    with pytest.raises(DataError, match=f"the test has {said}") as error:
        search_networks(dense, blobs(), tmp_path / "o", TWO, test=WRONG[said])
    assert error.value.expected == "samples [12] with 3 classes"
    assert not (tmp_path / "o").exists()


def of_labels(y):
    return Problem(np.ones((30, 12), np.float32), y)


def test_a_test_may_lack_classes_and_must_have_all_values():
    classes, values = np.arange(30), np.arange(90, dtype=np.float32).reshape(30, 3)
    Checks(of_labels(classes % 3), of_labels(classes % 2))
    Checks(of_labels(values), of_labels(-values))
    refused = {
        "3 values": (classes % 3, values),
        "3 classes": (values, classes % 3),
        "2 values": (values, values[:, :2]),
        "1 values": (values, values[:, 0]),
        "4 classes": (classes % 3, classes % 4),
    }
    for said, (sought, tested) in refused.items():
        with pytest.raises(DataError, match=rf"the test has samples \[12\] with {said}"):
            Checks(of_labels(sought), of_labels(tested))


def test_more_samples_than_there_are_cannot_be_emulated():
    problem = Problem.of(blobs())
    Checks(problem, emulate=18)
    for number in (19, -1):
        with pytest.raises(DataError, match=f"{number} samples to emulate") as error:
            Checks(problem, emulate=number)
        assert error.value.expected == "0 to 18, as there are"


def test_the_emulator_is_looked_for_before_anything_is_proposed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError, match="not installed: arm-none-eabi-gcc"):
        search_networks(dense, blobs(), tmp_path / "o", TWO, emulate=1)
    assert not (tmp_path / "o").exists()


def test_samples_to_emulate_are_in_the_order_of_the_data():
    problem = Problem.of(blobs())
    problem.__dict__["parts"] = (np.arange(6), np.array([8, 3, 7]))
    np.testing.assert_array_equal(Checks(problem)._shown(), problem.x[[3, 7, 8]])
