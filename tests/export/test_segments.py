"""Code of segments that run row by row: each has its steps, and layers and segments share code."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.asked import asked
from tests.c.host import build_program, run_program
from tests.memory.nets import RandomNet, random_net, widened
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.export import export_graph
from tinyrt.memory import plan_by_rows
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.evaluate import evaluate

KERNELS = kernels_for("cortex-m4")
SEEDS = {91: ["NULL", "rows1_rings"], 12: ["rows0_rings", "NULL"]}
"""Random networks -> of each segment of their smallest plans, whether it has rings that move."""


def answering(graph, folder):
    """The code of the smallest plan, whose program answers as the reference does."""
    plan = plan_by_rows(graph, KERNELS, costly=True)
    project = export_graph(graph, folder / "out", **asked(max_arena=plan.arena_bytes))
    assert (len(project.segments), project.arena_bytes) == (len(plan.segments), plan.arena_bytes)
    rng = np.random.default_rng(0)
    feeds = {}
    for value in graph.input_values:
        kind = np.iinfo(value.dtype.numpy)
        feeds[value.name] = rng.integers(kind.min, kind.max + 1, value.shape).astype(kind.dtype)
    found = run_program(build_program(project, folder), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected)
    return (folder / "out" / f"{project.name}.c").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled([12], SEEDS))
def test_several_segments_answer_as_the_reference(seed, tmp_path):
    code = answering(random_net(seed), tmp_path)
    calls = re.findall(r"rows_next\(rows(\d)_steps, (\w+), arena, progress(\d?)\)", code)
    assert calls == [("0", SEEDS[seed][0], ""), ("1", SEEDS[seed][1], "1")]


@pytest.mark.slow
def test_layers_of_16_bits_that_are_alike_share_a_case(tmp_path):
    """Rows move on by their bytes, and an average that all of them are multiplied by stays."""
    net = RandomNet(0)
    net.values["x"] = replace(net.values["x"], shape=(1, 6, 1, 4))
    mean = net.op("mean", MeanAttrs((1, 2), keep_dims=True), "x").name
    y = net.op("mul", MulAttrs(), "x", mean)
    for channels, taps in ((8, 3), *[(8, 1)] * 4, (4, 1)):
        w, b = net.weights((channels, taps, 1, y.shape[3]), 0)
        y = net.op("conv2d", Conv2dAttrs(), y.name, w, b)
    code = answering(widened(net.graph(net.op("add", AddAttrs(), y.name, "x").name)), tmp_path)
    assert "Ops 1 to 8, row by row." in code
    assert code.count("Ops 3, 4, 5, 6, 7: what differs is in the table") == 1
    row = 4 * 2
    assert re.findall(r"moved\[\d\] \+= \d+;", code) == [f"moved[{i}] += {row};" for i in range(3)]
