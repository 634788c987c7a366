"""Folds: who is trained to the end is judged by samples of each, and then learns from all."""

from dataclasses import replace

import numpy as np
import pytest

from tests.sampling import sampled
from tests.search import raw
from tests.search.made import QUICK, blobs, dense, problem
from tinyrt.errors import DataError
from tinyrt.quantize import Preset
from tinyrt.search import Candidate, Deployment, Problem, funnel, learning, search_networks, work
from tinyrt.search.learning import Verdict
from tinyrt.search.order import Order
from tinyrt.search.source import space_source
from tinyrt.search.store import End
from tinyrt.search.work import Deployed, deploy_on, train

VALUES = Problem(blobs()["x"], blobs()["x"][:, :2])


@pytest.mark.parametrize("of", [problem(), VALUES], ids=["classes", "values"])
def test_folds_hold_out_each_sample_once(of):
    parts = [replace(of, fold=fold).parts for fold in range(5)]
    assert all(sorted([*t, *h]) == list(range(90)) for t, h in parts)
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(90))
    assert {len(held) for _, held in parts} == {18}
    if of.has_classes:
        assert all(np.bincount(of.y[held]).tolist() == [6, 6, 6] for _, held in parts)
    np.testing.assert_array_equal(parts[0][1], of.parts[1])
    digests = {replace(of, fold=fold).digest for fold in (0, 1, None)}
    assert len(digests) == 3
    assert of.digest == replace(of, fold=0).digest


def test_all_samples_are_trained_on_in_random_order():
    training, held = replace(problem(), fold=None).parts
    assert sorted(training) == list(range(90)) != list(training)
    assert list(held) == list(range(90))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A search of two folds of a third, and what its workers were asked for on which fold."""
    asked = []

    def noted(order, fold, of):
        done = deploy_on(order, fold, of)
        asked.append((fold, done, train(order, order.epochs, None, replace(of, fold=fold))))
        return done

    first = []

    def begun(order, state, of):
        first.append(work.deploy(order, state, of))
        return first[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(funnel, "deploy_on", noted)
        patched.setattr(funnel, "deploy", begun)
        setting = replace(QUICK, trials=3, epochs=2, folds=2)
        given = tmp_path_factory.mktemp("folds")
        return search_networks(dense, blobs(), given, setting, validation=0.3), asked, first


def test_the_score_is_of_all_that_was_held_out_and_the_model_of_all_samples(found):
    result, asked, first = found
    trained = [n for n, r in sorted(result.records.items()) if r.end is End.TRAINED]
    assert len(trained) == len(first) > 0
    assert [fold for fold, _, _ in asked] == [1, None] * len(trained)
    for i, number in enumerate(trained):
        other, whole = asked[2 * i][1], asked[2 * i + 1][1]
        assert (first[i].held, other.held, whole.held) == (27, 27, 90)
        score = result.records[number].score
        assert score == pytest.approx((first[i].verdict.score + other.verdict.score) / 2)
        kept = result.study.parent / "trials" / f"{number:05}.tflite"
        assert kept.read_bytes() == whole.model != first[i].model


@pytest.mark.parametrize("folds", sampled([2], [1, 2]))
def test_with_folds_only_the_best_of_the_last_rung_go_on(folds, monkeypatch, tmp_path):
    """Each trial is better than those before it on the first rungs, and worse on the last."""
    scores = {}

    def judged(order, epochs, state, of):
        scores.setdefault(order.seed, len(scores) / 10)
        score = scores[order.seed] if epochs < 10 else -scores[order.seed]
        return replace(train(order, epochs, state, of), score=score)

    monkeypatch.setattr(funnel, "train", judged)
    setting = replace(QUICK, trials=6, epochs=10, folds=folds)
    found = search_networks(dense, blobs(), tmp_path, setting, validation=0.3)
    begun = [r for r in found.records.values() if r.end is not End.REFUSED]
    assert len(begun) >= 2
    assert begun[0].end is End.TRAINED
    later = {r.end if r.end is End.TRAINED else r.reason for r in begun[1:]}
    assert later == {End.TRAINED} if folds == 1 else all("after 10 epochs" in r for r in later)


HELD = (((0.5, 1.0), 30, b"a"), ((0.8, 0.6), 10, b"b"), ((1.0, 0.1), 40, b"c"))


def test_folds_of_other_sizes_count_by_their_samples(monkeypatch):
    held = iter([Deployed(Verdict(*v), n, m) for v, n, m in HELD])
    course = funnel.Funnel(None, None, replace(QUICK, folds=2), None, None)
    steps = course._deployed(None, b"", None)
    tasks = [next(steps), steps.send(next(held)), steps.send(next(held))]
    with pytest.raises(StopIteration) as stop:
        steps.send(next(held))
    assert [t.work for t in tasks] == [funnel.deploy, funnel.deploy_on, funnel.deploy_on]
    assert [t.arguments[1] for t in tasks] == [b"", 1, None]
    found = stop.value.value
    assert (found.verdict.score, found.verdict.loss) == pytest.approx((0.575, 0.9))
    assert (found.held, found.model) == (40, b"c")


@pytest.mark.parametrize("deployment", [Deployment(), Deployment(preset=Preset.FAST)])
def test_the_last_epoch_of_training_on_all_samples_is_kept(deployment, monkeypatch):
    asked, given = [], learning.train_for_int8
    monkeypatch.setattr(
        learning,
        "train_for_int8",
        lambda *a, **k: (asked.append((a[2], k["parts"])), given(*a, **k))[1],
    )

    def space(trial, problem, rng):
        return Candidate(dense(trial, problem, rng).network, deployment=deployment)

    order = Order(space_source(space), {"width": 8, "rate": 0.01}, 0, "cortex-m4", 2, 3)
    models = [deploy_on(order, fold, problem()) for fold in (1, None)]
    assert models[0].model != models[1].model
    if deployment.preset is None:
        (one, parts), (whole, everything) = asked
        assert (one.patience, whole.patience) == (5, None)
        assert (len(parts[0]), len(everything[0])) == (72, 90)
        np.testing.assert_array_equal(parts[1], replace(problem(), fold=1).parts[1])


def test_front_ends_take_their_scale_from_the_fold():
    of = raw.problem()
    kept = [work.seen(raw.FRONT, replace(of, fold=fold))[1] for fold in (0, 1, None)]
    assert len({p.scale for p in kept}) == 3


def test_more_than_all_samples_cannot_be_held_out(tmp_path):
    with pytest.raises(DataError) as error:
        search_networks(dense, blobs(), tmp_path, replace(QUICK, folds=4), validation=0.3)
    assert error.value.problem == "4 folds hold out 0.3 of the samples each"
    assert error.value.hint == "--folds 3, or --validation 0.25"
    assert not list(tmp_path.iterdir())


def test_a_study_of_other_folds_is_another(tmp_path):
    one = replace(QUICK, trials=1, epochs=1)
    search_networks(dense, blobs(), tmp_path, one)
    with pytest.raises(DataError, match="of another search, with folds 1"):
        search_networks(dense, blobs(), tmp_path, replace(one, folds=2), resume=True)
