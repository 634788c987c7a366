"""Which kernel a float layer with weights takes."""

import numpy as np
import pytest

from tests.ops.build import Case, build_f32
from tinyrt.backends.c.choice import choose
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

WITHOUT_UNIT = ("cortex-m3", "rv32imc", "host")
WITH_UNIT = ("cortex-m4", "cortex-m33", "cortex-m55")


@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "with_unit"),
    [
        (5, 1, "depthwise_quads", "depthwise_quads"),
        (35, 1, "depthwise_quads", "depthwise_quads"),
        (4, 1, "depthwise_quads", "depthwise_few"),
        (1, 1, "depthwise_conv2d", "depthwise_few"),
        (3, 1, "depthwise_conv2d", "depthwise_few"),
        (3, 2, "depthwise_conv2d", "depthwise_few"),
        (8, 2, "depthwise_turns", "depthwise_turns"),
        (5, 3, "depthwise_turns", "depthwise_turns"),
        (1, 8, "conv2d", "conv2d"),
        (1, 16, "conv2d", "conv2d"),
        (2, 4, "conv2d", "depthwise_few"),
        (4, 12, "depthwise_turns", "depthwise_few"),
        (4, 4, "depthwise_turns", "depthwise_spread"),
        (2, 16, "conv2d", "depthwise_spread"),
    ],
)
def test_depthwise_layers(channels, filters, kernel, with_unit):
    shapes = (1, 5, 5, channels), (1, 3, 3, channels * filters)
    case = Case("depthwise_conv2d", DepthwiseConv2dAttrs(), shapes, frozenset({1}))
    graph = build_f32(case, np.random.default_rng(0)).graph
    for core in (*WITHOUT_UNIT, *WITH_UNIT):
        name = with_unit if core in WITH_UNIT else kernel
        assert kernel_of(graph, core) == f"tinyrt_{name}_f32", core


@pytest.mark.parametrize(
    ("channels", "filters", "constant", "kernel"),
    [
        (4, 1, {2}, "depthwise_quads"),
        (4, 1, {1}, "depthwise_quads"),
        (3, 1, {1}, "depthwise_conv2d"),
        (3, 1, {2}, "depthwise_conv2d"),
        (3, 1, {1, 2}, "depthwise_few"),
        (8, 2, {2}, "depthwise_conv2d"),
        (4, 4, {2}, "depthwise_spread"),
        (8, 2, {1}, "depthwise_conv2d"),
        (8, 3, {1}, "depthwise_conv2d"),
        (8, 6, {1}, "conv2d"),
    ],
)
def test_depthwise_layers_with_computed_weights_or_biases(channels, filters, constant, kernel):
    """Filters take turns only where both are known, as both are stored in another order."""
    outputs = channels * filters
    shapes = (1, 5, 5, channels), (1, 3, 3, outputs), (outputs,)
    case = Case("depthwise_conv2d", DepthwiseConv2dAttrs(), shapes, frozenset(constant))
    graph = build_f32(case, np.random.default_rng(0)).graph
    assert kernel_of(graph, "cortex-m4") == f"tinyrt_{kernel}_f32"


@pytest.mark.parametrize(("constant", "kernel"), [({1}, "quads"), ((), "conv")])
def test_transposed_convolutions(constant, kernel):
    shapes = (1, 5, 5, 3), (4, 3, 3, 3)
    case = Case("transpose_conv", TransposeConvAttrs((5, 5)), shapes, frozenset(constant))
    graph = build_f32(case, np.random.default_rng(0)).graph
    for core in (*WITHOUT_UNIT, *WITH_UNIT):
        assert kernel_of(graph, core) == f"tinyrt_transpose_{kernel}_f32", core


def kernel_of(graph, core):
    (node,) = graph.bound()
    return choose(node, target_of(find_core(core), Optimize.BALANCED)).name
