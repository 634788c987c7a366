"""What a search is for: which samples choose, and what data say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.search.made import blobs, dense
from tinyrt.errors import DataError
from tinyrt.search import Problem, learning
from tinyrt.search.learning import Verdict, fit_candidate, verdict
from tinyrt.search.order import Order
from tinyrt.search.source import space_source


def test_each_class_has_its_share_to_choose_by_and_none_is_trained_on():
    problem = Problem.of(blobs(90), 0.2)
    training, held = problem.parts
    assert sorted([*training, *held]) == list(range(90))
    assert np.bincount(problem.y[held]).tolist() == [6, 6, 6]
    assert Problem.of(blobs(90), 0.2).digest == problem.digest
    assert Problem.of(blobs(90), 0.2, seed=1).digest != problem.digest
    assert Problem.of(blobs(90), 0.3).digest != problem.digest
    assert replace(problem, told=np.ones((90, 3))).digest != problem.digest


def test_a_file_is_read_and_without_labels_samples_are_reproduced(tmp_path):
    np.savez(tmp_path / "d.npz", x=blobs()["x"].astype(np.float64))
    problem = Problem.of(tmp_path / "d.npz")
    assert problem.x.dtype == np.float32
    assert problem.y is problem.x
    assert (problem.outputs, problem.has_classes) == (12, False)
    assert Problem.of(blobs()).outputs == 3
    values = {"x": blobs()["x"], "y": np.ones((90, 2))}
    assert Problem.of(values).outputs == 2
    np.savez(tmp_path / "no.npz", y=blobs()["y"])
    with pytest.raises(DataError, match="no samples among y") as error:
        Problem.of(tmp_path / "no.npz")
    assert error.value.file == str(tmp_path / "no.npz")


WRONG = {
    "there are no samples among y": {"y": np.arange(9)},
    "samples [9] and labels [9]": {"x": np.ones(9)},
    "samples [9, 2] and labels [8]": {"x": np.ones((9, 2)), "y": np.arange(8)},
    "not all samples and labels are finite": {"x": np.full((9, 2), np.nan)},
    "labels are int64[9] from -1 to 7": {"x": np.ones((9, 2)), "y": np.arange(9) - 1},
    "labels are int64[9] from 0 to 0": {"x": np.ones((9, 2)), "y": np.zeros(9, int)},
    "labels are int64[9, 2] from 1 to 1": {"x": np.ones((9, 2)), "y": np.ones((9, 2), int)},
}


@pytest.mark.parametrize("infinite", ["x", "y"])
def test_values_that_are_not_finite_are_refused_on_either_side(infinite):
    values = {"x": np.ones((9, 2), np.float32), "y": np.ones((9, 2), np.float32)}
    Problem.of(values)
    with pytest.raises(DataError, match="are finite"):
        Problem.of(values | {infinite: np.full((9, 2), np.inf, np.float32)})


@pytest.mark.parametrize("problem", WRONG)
def test_data_that_make_no_problem_are_refused(problem):
    with pytest.raises(DataError) as error:
        Problem.of(WRONG[problem])
    assert error.value.problem == problem


@pytest.mark.parametrize("share", [0, 1, -0.5])
def test_the_share_to_choose_by_is_one(share):
    with pytest.raises(DataError, match="of the samples are to choose by"):
        Problem.of(blobs(), share)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_answers_that_are_not_finite_are_no_class(odd):
    problem = Problem.of(blobs(30))
    answers = np.eye(3)[problem.y]
    assert verdict(answers, problem.y, problem).score == 1.0
    answers[2, 1] = odd
    with pytest.raises(DataError, match="answers of the trained network are not finite"):
        verdict(answers, problem.y, problem)


def test_equals_in_score_are_told_apart_by_their_loss():
    problem = Problem.of(blobs(30))
    right = np.eye(3)[problem.y]
    sure, unsure = (verdict(s * right + (1 - s) / 3, problem.y, problem) for s in (1, 0.25))
    assert (sure.score, unsure.score, sure.loss) == (1.0, 1.0, 0.0)
    assert unsure.loss == pytest.approx(np.log(2))
    assert sure.quality == 1.0
    assert unsure.quality < sure.quality
    # A probability of 0 is one below half a step of int8.
    wrong = verdict(1 - right, problem.y, problem)
    assert (wrong.score, wrong.loss) == (0.0, pytest.approx(np.log(512)))
    # However great its loss, more right answers are better; by one of a hundred thousand here.
    assert Verdict(0.99999, 1e9).quality > Verdict(0.99998, 0.0).quality


def test_the_loss_of_values_is_their_error():
    problem = Problem.of({"x": np.zeros((9, 2)), "y": np.zeros((9, 1))})
    found = verdict(np.full((9, 1, 1), 0.5), problem.y, problem)
    assert (found.score, found.loss) == (-0.25, 0.25)


def test_each_rung_is_the_beginning_of_one_training(monkeypatch, tmp_path):
    """Rates, samples and their order are the same, however many epochs it has."""
    asked = []

    def fit(module, optimizer, x, y, config, *, rng, lr, **options):
        rates = [lr(step, None) for step in range(30 * 5)]
        asked.append((rates, optimizer.lr, x.tolist(), y.tolist(), config.batch, rng.random()))
        return [SimpleNamespace(score=0.5)] * 30

    monkeypatch.setattr(learning, "fit", fit)
    order = Order(space_source(dense), {"width": 4, "rate": 0.01}, 3, "cortex-m4", 30, 1)
    for epochs in (1, 15, 30):
        problem = Problem.of(blobs())
        fit_candidate(order.candidate(problem), order, epochs, problem, tmp_path / "state.npz")
    assert asked[0] == asked[1] == asked[2]
    rates = asked[0][0]
    assert rates[0] < max(rates) == 0.01 > rates[-1]
