"""Choices that cannot be are refused by name; which samples are held out."""

from pathlib import Path

import numpy as np
import pytest

from tinyrt.errors import DataError, UnsupportedError
from tinyrt.quantize.config import Scheme
from tinyrt.train.pipeline.lessons import Kind, Lesson
from tinyrt.train.pipeline.samples import split
from tinyrt.train.pipeline.setting import Pruned, Pruning, QatSetting

REFUSED = {
    "epochs is 0": {"epochs": 0},
    "patience is 0": {"patience": 0},
    "batch is 0": {"batch": 0},
    "seed is -1": {"seed": -1},
    "finetune is -1": {"finetune": -1},
    "0 of the samples are to be held out": {"validation": 0},
    "1 of the samples are to be held out": {"validation": 1},
    "nan of the samples are to be held out": {"validation": float("nan")},
    "a learning rate of 0": {"learning_rate": 0},
    "a learning rate of inf": {"learning_rate": float("inf")},
    "a learning rate of nan": {"learning_rate": float("nan")},
    "a number of bytes says nothing beside scheme int4": {"max_bytes": 9, "scheme": Scheme.INT4},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_out_of_range_is_refused(said):
    with pytest.raises(DataError, match=f"^{said}"):
        QatSetting(**REFUSED[said])


@pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_FLOAT16, Scheme.WEIGHTS_INT8, Scheme.FLOAT])
def test_schemes_without_training_are_refused_by_name(scheme):
    with pytest.raises(UnsupportedError, match=f"no training for scheme {scheme.value}") as refused:
        QatSetting(scheme=scheme)
    assert refused.value.hint.startswith(f"tinyrt quantize --scheme {scheme.value}")


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan")])
def test_a_share_to_prune_leaves_something(share):
    with pytest.raises(DataError, match=r"pruning takes away .* of the channels"):
        Pruning(Pruned.CHANNELS, share)


def test_least_values_are_taken_and_epochs_in_float_follow_from_pruning():
    least = QatSetting(epochs=1, patience=1, batch=1, seed=0, finetune=0)
    assert (least.float_epochs, least.float_state) == (0, None)
    pruning = Pruning(Pruned.WEIGHTS, 0.5)
    assert QatSetting(epochs=7).float_epochs == 0
    assert QatSetting(epochs=7, pruning=pruning).float_epochs == 7
    assert QatSetting(epochs=7, pruning=pruning, finetune=3).float_epochs == 3
    assert QatSetting(epochs=7, pruning=pruning, finetune=0).float_epochs == 0
    assert QatSetting(state_file=Path("a/b.npz")).float_state == Path("a/b.float.npz")


def lesson(kind, labels):
    return Lesson("y", kind, False, labels, None)


def test_classes_are_held_out_in_their_proportion():
    y = np.array([0] * 20 + [1] * 10)
    others = lesson(Kind.VALUES, np.zeros((30, 1), np.float32))
    places = lesson(Kind.CLASSES, np.zeros((30, 2), np.int64))
    training, held = split([others, places, lesson(Kind.CLASSES, y[:, None])], 30, 0.1, 3)
    assert list(y[held]) == [0, 0, 1]
    assert sorted([*training, *held]) == list(range(30))
    assert list(training) != sorted(training)
    again = split([lesson(Kind.CLASSES, y)], 30, 0.1, 3)
    np.testing.assert_array_equal(held, again[1])
    assert not np.array_equal(held, split([lesson(Kind.CLASSES, y)], 30, 0.1, 4)[1])


def test_without_one_class_for_each_sample_any_are_held_out():
    places = lesson(Kind.CLASSES, np.zeros((30, 2), np.int64))
    for lessons in ([places], [lesson(Kind.SHARES, None)]):
        training, held = split(lessons, 30, 0.2, 0)
        assert len(held) == 6
        assert sorted([*training, *held]) == list(range(30))
        assert list(held) == sorted(held) != list(range(6))
