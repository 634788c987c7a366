"""What a training's outcome says of its model."""

import numpy as np

from tests.graphs import Builder
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.train.pipeline.outcome import zero_weights


def test_weights_that_are_shared_count_once_and_none_are_no_zeros():
    b = Builder((1, 4))
    assert zero_weights(b.graph(b.op("abs", ("x",)))) == 0
    shared, own = b.constant(np.eye(4, dtype=np.float32)), b.constant(np.ones((2, 4), np.float32))
    y = "x"
    for weights in (shared, shared, own):
        y = b.op("fully_connected", (y, weights), FullyConnectedAttrs())
    assert zero_weights(b.graph(y)) == 12 / (16 + 8)
