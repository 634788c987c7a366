"""Networks that run row by row, whole inputs and pushed rows, in C on this machine."""

from dataclasses import replace

import numpy as np
import pytest

from tests.c.host import build_program, run_samples
from tests.memory.nets import RandomNet, gated_net, random_net
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ir import DType, Graph, QParams, Value
from tinyrt.memory import plan_by_rows
from tinyrt.ops import OPS
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow


def narrow_net(seed: int) -> Graph:
    """A random network whose convolutions have weights of four bits."""
    graph = random_net(seed)
    values = dict(graph.values)
    for node in graph.nodes:
        if OPS[node.op].int4_weights:
            w = values[node.inputs[1]]
            values[w.name] = replace(w, dtype=DType.INT4, data=np.clip(w.data, -8, 7))
    return replace(graph, values=values)


def alike_net(seed: int) -> Graph:
    """Windows of 3x3 of more channels than four, all of one scale, and a mean of odd rows."""
    net = RandomNet(seed)
    x = net.values["x"] = Value("x", DType.INT8, (1, 9, 5, 3), net.q)
    for op, attrs, shape, axis in (
        ("conv2d", Conv2dAttrs(padding="SAME"), (7, 3, 3, 3), 0),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(padding="SAME"), (1, 3, 3, 7), 3),
    ):
        names = net.weights(shape, axis)
        for name in names:
            q = QParams(net.values[name].q.scales[:1], 0)
            net.values[name] = replace(net.values[name], q=q)
        x = net.op(op, attrs, x.name, *names)
    return net.graph(net.op("mean", MeanAttrs((1, 2)), x.name).name)


NETS = (
    *((random_net, 8), (random_net, 9), (random_net, 23), (gated_net, 8)),
    *((narrow_net, 23), (alike_net, 31)),
)
"""Between them they have stages of every kind of kernel for rows."""

ROWS3 = ("tinyrt_depthwise_rows3_s8.c", "tinyrt_depthwise_rows3_s4.c")
SUMS = ("tinyrt_average_sums_s8.c", "tinyrt_mean_sums_s8.c", "tinyrt_column_sums_s8.c")


def rows_of(graph, folder, core, pushed):
    """The project with the least memory, or that which takes its input row by row."""
    if pushed:
        return export_graph(graph, folder, core=core, options=ExportOptions(input_rows=True))
    least = plan_by_rows(graph, kernels_for(core), costly=True)
    return export_graph(
        graph, folder, core=core, options=ExportOptions(by_rows=True, max_arena=least.arena_bytes)
    )


def answers_as_the_references(graph, project, folder):
    """The program answers three samples as the references do; no warning is let through."""
    x = graph.value(graph.inputs[0])
    samples = [
        {x.name: np.random.default_rng(i).integers(-128, 128, x.shape, np.int8)} for i in range(3)
    ]
    program = build_program(project, folder)
    found = run_samples(program, project, samples, "beside")
    for feeds, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, feeds).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


WAYS = [("cortex-m3", True), ("cortex-m4", False), ("cortex-m4", True), ("cortex-m3", False)]


@pytest.mark.parametrize(("core", "pushed"), sampled(WAYS[:2], WAYS))
def test_rows_equal_the_references(tmp_path, core, pushed):
    kernels = set()
    for net, seed in NETS if pushed else NETS[:: sampled(6, 1)]:
        graph = net(seed)
        folder = tmp_path / f"{net.__name__}_{seed}"
        project = rows_of(graph, folder / "project", core, pushed)
        assert project.segments or not pushed
        kernels |= {path.name for path in (project.directory / "tinyrt").glob("*.c")}
        answers_as_the_references(graph, project, folder)
    assert not pushed or kernels >= {*SUMS, *ROWS3}


def test_filters_of_3x3_take_two_rows_at_once(tmp_path):
    graph = alike_net(31)
    project = rows_of(graph, tmp_path / "project", "cortex-m4", pushed=True)
    assert (project.directory / "tinyrt" / ROWS3[0]).exists()
    answers_as_the_references(graph, project, tmp_path)


def test_batches_that_are_all_as_short_take_no_number_of_rows(tmp_path):
    graph = random_net(3)
    project = export_graph(
        graph, tmp_path / "project", core="cortex-m4", options=ExportOptions(input_rows=True)
    )
    code = (project.directory / f"{project.name}.c").read_text()
    assert code.count("const int32_t first = ") > code.count("const int32_t rows = ")
    answers_as_the_references(graph, project, tmp_path)
