"""Large graphs are planned with little work, and the plan says how good it is.

Work is counted in calls, or in buffers placed: other work on the machine changes neither.
"""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.memory.targets import DSP
from tests.sampling import sampled
from tests.work import calls
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.ir import DType, QParams, Value
from tinyrt.memory import plan_by_rows, plan_memory, schedule
from tinyrt.memory.rows.packing import Packing
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mean import MeanAttrs

pytestmark = pytest.mark.slow

STAGES = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)
"""Of MobileNetV2: expansion, channels, blocks, stride of the first."""


def mobilenet_v2(size=224):
    b = Builder((1, size, size, 3))

    def conv(x, channels, kernel=1, stride=1, activation="RELU6"):
        shape = (channels, kernel, kernel, b.values[x].shape[3])
        w = b.constant(np.zeros(shape, np.float32))
        attrs = Conv2dAttrs(stride=(stride, stride), padding="SAME", activation=activation)
        return b.op("conv2d", (x, w), attrs)

    def depthwise(x, stride):
        w = b.constant(np.zeros((1, 3, 3, b.values[x].shape[3]), np.float32))
        attrs = DepthwiseConv2dAttrs(stride=(stride, stride), padding="SAME")
        return b.op("depthwise_conv2d", (x, w), attrs)

    x = conv("x", 32, 3, 2)
    for expansion, channels, blocks, first_stride in STAGES:
        for i in range(blocks):
            wide = conv(x, b.values[x].shape[3] * expansion) if expansion > 1 else x
            y = conv(depthwise(wide, 1 if i else first_stride), channels, activation="NONE")
            x = b.op("add", (x, y), AddAttrs()) if i else y
    return b.graph(b.op("mean", (conv(x, 1280),), MeanAttrs((1, 2), keep_dims=True)))


def many_branches(cells=40):
    """Cells of three branches each that come together again: over 200 buffers."""
    b = Builder((1, 16, 16, 4))
    x = "x"
    for _ in range(cells):
        left = b.op("tanh", (b.op("logistic", (x,)),))
        right = b.op("relu", (x,))
        far = b.op(
            "mean",
            (b.op("concatenation", (x, right), ConcatenationAttrs(3)),),
            MeanAttrs((3,), keep_dims=True),
        )
        x = b.op("add", (b.op("add", (left, right), AddAttrs()), far), AddAttrs())
    return b.graph(x)


def as_int8(graph):
    """The same graph in int8, with weights of zeros: plans depend on shapes alone."""

    def cast(value):
        if not value.is_constant:
            return replace(value, dtype=DType.INT8, q=QParams((0.05,), -128))
        axis = 3 if value.shape[0] == 1 else 0
        q = QParams((0.01,) * value.shape[axis], 0, axis)
        return Value.constant(value.name, np.zeros(value.shape, np.int8), q)

    return replace(graph, values={name: cast(value) for name, value in graph.values.items()})


@pytest.fixture
def placed(monkeypatch):
    """How often a buffer was placed: `len(placed)`."""
    seen = []
    lowest = Packing.lowest

    def counted(packing, i, at):
        seen.append(i)
        return lowest(packing, i, at)

    monkeypatch.setattr(Packing, "lowest", counted)
    return seen


@pytest.mark.parametrize("make", sampled([mobilenet_v2], [mobilenet_v2, many_branches]))
def test_large_graphs_are_planned_with_little_work(make):
    graph = make()
    assert calls(lambda: plan_memory(schedule(graph), DSP)) < 1_000_000
    plan = plan_memory(schedule(graph), DSP)
    assert plan.lower_bound <= plan.arena_bytes <= 1.05 * plan.lower_bound


@pytest.mark.whole
def test_segments_of_a_large_graph_are_chosen_with_little_work(placed):
    """About 6 s."""
    plan = plan_by_rows(as_int8(mobilenet_v2()), DSP)
    assert len(placed) < 350_000
    assert plan.segments
    assert plan.lower_bound <= plan.arena_bytes <= 226_688


@pytest.mark.whole
def test_a_large_graph_takes_several_segments():
    plan = plan_by_rows(as_int8(mobilenet_v2(96)), DSP, costly=True)
    assert len(plan.segments) == 3
    assert plan.lower_bound <= plan.arena_bytes <= 47_616


def test_segments_of_the_zoo_are_chosen_with_little_work(zoo, placed):
    """About 1.6 s for all of them, 0.4 s for one."""
    for path in sorted((zoo / "models").glob(sampled("dscnn_kws_int8.tflite", "*_int8.tflite"))):
        plan_by_rows(read_tflite(path), DSP)
    assert 30_000 < len(placed) < sampled(39_000, 140_000)


def test_the_zoo_is_planned_with_little_work_and_every_plan_is_the_best(zoo):
    graphs = [read_tflite(path) for path in sorted((zoo / "models").glob("*_int8.tflite"))]
    plans = []
    work = calls(lambda: plans.extend(plan_memory(graph, DSP) for graph in graphs))
    assert work < 900_000
    assert all(plan.optimal for plan in plans)
