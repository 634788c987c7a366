"""Which kernel a float layer with weights takes."""

import numpy as np
import pytest

from tests.ops.build import Case, build_f32
from tinyrt.backends.c.choice import choose
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs

WITHOUT_UNIT = ("cortex-m3", "rv32imc", "host")
WITH_UNIT = ("cortex-m4", "cortex-m33", "cortex-m55")


@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "with_unit"),
    [
        (4, 1, "depthwise_quads", "depthwise_quads"),
        (35, 1, "depthwise_quads", "depthwise_quads"),
        (3, 1, "depthwise_conv2d", "depthwise_conv2d"),
        (8, 2, "depthwise_conv2d", "depthwise_conv2d"),
        (1, 8, "conv2d", "conv2d"),
        (1, 16, "conv2d", "conv2d"),
        (2, 4, "conv2d", "conv2d"),
        (4, 12, "conv2d", "conv2d"),
        (4, 4, "conv2d", "depthwise_spread"),
        (2, 16, "conv2d", "depthwise_spread"),
    ],
)
def test_depthwise_layers(channels, filters, kernel, with_unit):
    shapes = (1, 5, 5, channels), (1, 3, 3, channels * filters)
    case = Case("depthwise_conv2d", DepthwiseConv2dAttrs(), shapes, frozenset({1}))
    (node,) = build_f32(case, np.random.default_rng(0)).graph.bound()
    for core in (*WITHOUT_UNIT, *WITH_UNIT):
        name = with_unit if core in WITH_UNIT else kernel
        target = target_of(find_core(core), Optimize.BALANCED)
        assert choose(node, target).name == f"tinyrt_{name}_f32", core
