"""What ops that run row by row are said to cost, beside what the emulator counted.

Counted were instructions of one inference and bytes of code, of the program that ``tinyrt export``
writes and, for what is added, less those of the program without segments. None: what is said is
further off.
"""

from dataclasses import replace

import pytest

from tests.memory.nets import RandomNet, gated_net, signal_net
from tests.memory.targets import DSP, kernels_for
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.memory import plan_by_rows, plan_pushed
from tinyrt.memory.rows.build import build, row_ops
from tinyrt.memory.rows.costs import _set_up, added_code, added_instructions, whole_cost
from tinyrt.memory.segments import RowStep
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs

M4, M55 = "cortex-m4", "cortex-m55"


def net_of(name, zoo):
    made = {"signals": signal_net, "gates": gated_net}
    if name in made:
        return made[name](0 if name == "signals" else 7)
    return read_tflite(zoo / "models" / f"{name}_int8.tflite")


@pytest.mark.parametrize(
    ("core", "name", "instructions", "code"),
    [
        (M4, "resnet8", 13_040_735, 6_256),
        (M4, "dscnn_kws", 3_624_845, 7_432),
        (M55, "resnet8", 1_925_000, 8_024),
        (M55, "dscnn_kws", 637_757, 12_116),
    ],
)
def test_a_program_of_convolutions_costs_about_what_is_said(zoo, core, name, instructions, code):
    cost = whole_cost(net_of(name, zoo), kernels_for(core))
    assert cost.instructions == pytest.approx(instructions, rel=0.06)
    assert cost.code == pytest.approx(code, rel=0.1)


OTHERS = [
    (M4, "gates", False, 2_350, 668),
    (M55, "resnet8", False, 84_465, None),
    (M55, "resnet8", True, 59_499, None),
    (M55, "dscnn_kws", False, 634_163, None),
    (M55, "signals", True, 61_034, None),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "name", "pushed", "instructions", "code"),
    [
        (M4, "gates", True, 3_092, 796),
        (M4, "signals", True, 30_717, None),
        (M4, "dscnn_kws", True, 104_186, None),
        (M55, "dscnn_kws", True, 284_705, None),
        (M55, "signals", False, 84_366, 556),
        (M55, "gates", True, None, 612),
        *sampled([], OTHERS),
    ],
)
def test_segments_add_about_what_is_said(zoo, core, name, pushed, instructions, code):
    graph, kernels = net_of(name, zoo), kernels_for(core)
    plan = plan_pushed(graph, kernels) if pushed else plan_by_rows(graph, kernels, costly=True)
    if instructions is not None:
        said = added_instructions(graph, plan.segments, kernels)
        assert said == pytest.approx(instructions, rel=0.26)
    if code is not None:
        assert added_code(graph, plan.segments, kernels) == pytest.approx(code, rel=0.2)


def depthwise_twice(stride, columns):
    """16 rows of 8 channels, through two windows of 3 x 3."""
    net = RandomNet(0)
    net.values["x"] = replace(net.values["x"], shape=(1, 16, columns, 8))
    y = "x"
    for _ in range(2):
        attrs = DepthwiseConv2dAttrs((stride, stride), "SAME")
        y = net.op("depthwise_conv2d", attrs, y, *net.weights((1, 3, 3, 8), 3)).name
    return net.graph(y)


def segment_of(graph, times=1):
    return build(graph, row_ops(graph), 0, len(graph.nodes), None, times)


@pytest.mark.parametrize(
    ("stride", "columns", "times", "instructions"),
    [
        (1, 16, 1, 68_569),
        (1, 16, 2, 37_934),
        (1, 32, 1, 112_665),
        (1, 32, 4, 35_992),
        (2, 8, 1, 11_851),
        (2, 8, 2, 10_297),
        (2, 8, 4, 6_572),
        (2, 32, 1, 24_019),
        (2, 32, 2, 18_145),
    ],
)
def test_depthwise_rows_add_about_what_is_said(stride, columns, times, instructions):
    graph = depthwise_twice(stride, columns)
    said = added_instructions(graph, (segment_of(graph, times),), DSP)
    assert said == pytest.approx(instructions, rel=0.17)


@pytest.mark.parametrize(
    ("columns", "times", "instructions"),
    [(8, 1, 17_209), (8, 2, 8_869), (15, 1, 15_109), (15, 2, 6_861)],
)
def test_short_depthwise_rows_add_no_more_than_is_said(columns, times, instructions):
    graph = depthwise_twice(1, columns)
    said = added_instructions(graph, (segment_of(graph, times),), DSP)
    assert instructions < said < 2.3 * instructions


@pytest.mark.parametrize(
    ("stride", "columns", "rows", "instructions"),
    [
        (1, 15, 2, 8 * 44),
        (1, 15, 1, 8 * (44 + 36)),
        (1, 15, 3, 8 * (44 + 36)),
        (1, 16, 1, 8 * (83 + 8 * 16)),
        (1, 16, 2, 8 * (83 + 8 * 16)),
        (2, 8, 1, 8 * 83),
        (2, 8, 2, 8 * 83),
        (2, 32, 2, 8 * 83),
    ],
)
def test_a_depthwise_batch_is_set_up_channel_by_channel(stride, columns, rows, instructions):
    stage = segment_of(depthwise_twice(stride, columns)).stages[-1]
    assert _set_up(stage, RowStep(0, False, False, False, 0, rows)) == instructions


@pytest.mark.parametrize(("columns", "rows", "pixels"), [(5, 1, 1), (5, 2, 0), (6, 1, 0)])
def test_a_convolution_computes_an_odd_pixel_alone(columns, rows, pixels):
    """Its 72 products take 37 instructions per hundred more than those of two pixels at once."""
    net = RandomNet(0)
    net.values["x"] = replace(net.values["x"], shape=(1, 16, columns, 2))
    y = net.op("conv2d", Conv2dAttrs(), "x", *net.weights((4, 3, 3, 2), 0)).name
    stage = segment_of(net.graph(y)).stages[-1]
    assert _set_up(stage, RowStep(0, False, False, False, 0, rows)) == 26 * pixels
