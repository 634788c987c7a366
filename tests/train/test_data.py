"""Splits, batches and augmentation: complete, seeded, and nothing lost."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tinyrt.errors import DataError
from tinyrt.train import data
from tinyrt.train.data import batches, class_weights, in_order, shift_images, stratified_split


def rng():
    return np.random.default_rng(11)


def test_split_keeps_the_share_of_every_class():
    labels = np.repeat(np.arange(3), [40, 80, 8])
    train, test = stratified_split(labels, 0.25, rng())
    assert np.bincount(labels[test]).tolist() == [10, 20, 2]
    assert sorted([*train, *test]) == list(range(128))
    again = stratified_split(labels, 0.25, rng())
    assert np.array_equal(again[1], test)


def test_folds_follow_each_other_and_each_sample_is_in_one():
    labels = np.repeat(np.arange(2), [10, 7])
    parts = [stratified_split(labels, 1 / 3, rng(), fold)[1] for fold in range(3)]
    # Edges at a third and two thirds of 10 and of 7, rounded: 3 and 7, 2 and 5.
    assert [np.bincount(labels[part]).tolist() for part in parts] == [[3, 2], [4, 3], [3, 2]]
    assert sorted(np.concatenate(parts)) == list(range(17))


def test_batches_hold_every_sample_once_with_its_label():
    x = np.arange(10.0)
    parts = list(batches(x, x * 2, 4, rng()))
    assert [len(p) for p, _ in parts] == [4, 4, 2]
    assert sorted(np.concatenate([p for p, _ in parts])) == x.tolist()
    assert all(np.array_equal(p * 2, q) for p, q in parts)
    assert np.concatenate([p for p, _ in parts]).tolist() != x.tolist()
    with pytest.raises(DataError, match="10 samples, but 9 labels"):
        next(batches(x, x[:9], 4, rng()))


def test_shifted_images_are_those_that_a_shift_can_give():
    images = rng().random((60, 4, 5, 2))
    moved = shift_images(images, rng(), pixels=1)
    assert (moved.shape, moved.dtype) == (images.shape, images.dtype)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    seen = set()
    for i, image in enumerate(moved):
        at = [
            (r, c)
            for r in range(3)
            for c in range(3)
            if np.array_equal(image, padded[i, r : r + 4, c : c + 5])
        ]
        assert len(at) == 1
        seen.update(at)
    assert len(seen) == 9
    far = shift_images(np.ones((400, 7, 7, 1)), rng(), pixels=2)
    assert {int(n) for n in far.any(axis=2).sum(1).ravel()} == {5, 6, 7}


def test_only_the_given_share_is_shifted():
    images = rng().random((400, 4, 4, 1)) + 1
    assert np.array_equal(shift_images(images, rng(), share=0.0), images)
    stayed = (shift_images(images, rng(), share=0.5) == images).all(axis=(1, 2, 3)).mean()
    assert stayed == pytest.approx(0.5 + 0.5 / 9, abs=0.06)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_give_the_same_items_and_errors_in_order(workers):
    def fail():
        raise DataError("the disk is gone")

    jobs = [*(lambda i=i: i for i in range(9)), fail, lambda: 10]
    reader = in_order(jobs, workers)
    assert [next(reader) for _ in range(9)] == list(range(9))
    with pytest.raises(DataError, match="disk"):
        next(reader)


def test_workers_are_two_jobs_each_ahead_of_their_reader():
    asked = []
    jobs = (asked.append(i) or (lambda i=i: i) for i in range(30))
    for i, result in enumerate(in_order(jobs, 3)):
        assert (result, len(asked)) == (i, min(i + 1 + 2 * 3, 30))


def test_workers_stop_when_their_reader_does():
    before, done = threading.active_count(), []
    reader = in_order((lambda i=i: done.append(i) for i in range(100)), 2)
    next(reader)
    reader.close()
    assert threading.active_count() == before
    assert len(done) < 10


def test_what_waits_for_a_worker_is_left_when_the_reader_stops(monkeypatch):
    """The second job works until nobody waits for it any more; the third has not begun."""
    leaving, done = threading.Event(), []

    class Pool(ThreadPoolExecutor):
        def __exit__(self, *failure):
            leaving.set()
            return super().__exit__(*failure)

    monkeypatch.setattr(data, "ThreadPoolExecutor", Pool)
    reader = in_order((lambda: 1, lambda: leaving.wait(60), lambda: done.append(3)), 1)
    assert next(reader) == 1
    reader.close()
    assert (leaving.is_set(), done) == (True, [])


def test_class_weights_make_classes_count_alike():
    labels = np.array([0, 1, 1, 2, 2, 2, 1, 1])
    weights = class_weights(labels)
    assert weights.dtype == np.float32
    sums = np.bincount(labels, weights=weights[labels])
    np.testing.assert_allclose(sums, 8 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0, 2, 2], "class 1 has no sample"),
        ([], "labels of type float64"),
        ([0.0, 1.0], "labels of type float64"),
        ([[0], [1]], r"shape \(2, 1\)"),
        ([-1, 0], "from 0"),
    ],
)
def test_weights_of_no_classes_are_refused(labels, says):
    with pytest.raises(DataError, match=says):
        class_weights(labels)
