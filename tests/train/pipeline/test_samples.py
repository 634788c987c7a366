"""Samples are known by what is in them."""

import numpy as np
import pytest

from tinyrt.train.pipeline.lessons import Kind, Lesson
from tinyrt.train.pipeline.samples import digest, split


def test_a_digest_tells_arrays_apart():
    zeros = np.zeros(4, np.float32)
    others = [zeros + 1, zeros.reshape(2, 2), zeros.astype(np.int32)]
    assert digest([zeros]) == digest([zeros.copy()])
    assert len({digest([array]) for array in [zeros, *others]}) == 4


@pytest.mark.parametrize("kind", [Kind.CLASSES, Kind.VALUES])
def test_folds_hold_out_each_sample_once_and_give_the_others_in_random_order(kind):
    lesson = Lesson("y", kind, False, np.arange(12) % 2, None)
    parts = [split([lesson], 12, 1 / 3, 7, fold) for fold in range(3)]
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(12))
    for training, held in parts:
        assert len(held) == 4
        assert sorted([*training, *held]) == list(range(12))
        assert training.tolist() != sorted(training)
    np.testing.assert_array_equal(split([lesson], 12, 1 / 3, 7)[1], parts[0][1])
