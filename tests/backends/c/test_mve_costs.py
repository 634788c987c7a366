"""What depthwise layers cost on a Cortex-M55, summed up by hand as their kernel's loops go."""

import numpy as np
import pytest

from tests.ops.build import Case, build_s8
from tinyrt.backends.c.mve.cost import CALL, depthwise_cost
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs, window_of

PAIR = 53 + 9 * 9 + 25 + 12 * 3
"""Two points of a kernel of three by three, of results that no activation cuts off."""

CASES = {
    # Two lines side by side, then the last one's pair and its point: three calls for five pairs.
    "three by three points": (5, 45 + 60 + 5 * (15 + 4 * 5) + 3 * 45 + 5 * PAIR, 5 * 5),
    # Six lines from one copy: ten copies, of which nine have two lines of the one before.
    "in ten bands": (
        61,
        45 + 10 * 60 + 61 * (15 + 4 * 61) + 9 * 2 * 2 * 61 + 31 * 45 + (29 * 59 + 30) * PAIR,
        8 * 61,
    ),
}
"""Name -> rows and columns of the input, instructions for eight channels, bytes filled at first."""


@pytest.mark.parametrize(("size", "block", "filled"), CASES.values(), ids=CASES)
def test_every_loop_of_a_depthwise_layer_is_counted(size, block, filled):
    attrs = DepthwiseConv2dAttrs(padding="VALID")
    case = Case(
        "depthwise_conv2d", attrs, ((1, size, size, 16), (1, 3, 3, 16), (16,)), frozenset({1, 2})
    )
    node = build_s8(case, np.random.default_rng(0)).graph.bind(0)
    window = window_of(attrs, node.input(0).shape, node.input(1).shape)
    assert depthwise_cost(node, window) == CALL + 150 + filled + 2 * block
