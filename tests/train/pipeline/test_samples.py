"""Samples are known by what is in them."""

import numpy as np

from tinyrt.train.pipeline.samples import digest


def test_a_digest_tells_arrays_apart():
    zeros = np.zeros(4, np.float32)
    others = [zeros + 1, zeros.reshape(2, 2), zeros.astype(np.int32)]
    assert digest([zeros]) == digest([zeros.copy()])
    assert len({digest([array]) for array in [zeros, *others]}) == 4
