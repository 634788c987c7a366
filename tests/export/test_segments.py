"""Code of several segments that run row by row: each has its steps, and all share a function."""

import re

import numpy as np
import pytest

from tests.asked import asked
from tests.c.host import build_program, run_program
from tests.memory.nets import random_net
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.export import export_graph
from tinyrt.memory import plan_by_rows
from tinyrt.ops.shared.evaluate import evaluate

KERNELS = kernels_for("cortex-m4")
SEEDS = {91: ["NULL", "rows1_rings"], 12: ["rows0_rings", "NULL"]}
"""Random networks -> of each segment of their smallest plans, whether it has rings that move."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled([12], SEEDS))
def test_several_segments_answer_as_the_reference(seed, tmp_path):
    graph = random_net(seed)
    plan = plan_by_rows(graph, KERNELS, costly=True)
    project = export_graph(graph, tmp_path / "out", **asked(max_arena=plan.arena_bytes))
    assert (len(project.segments), project.arena_bytes) == (2, plan.arena_bytes)
    rng = np.random.default_rng(seed)
    feeds = {
        v.name: rng.integers(-128, 128, v.shape).astype(v.dtype.numpy) for v in graph.input_values
    }
    found = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected)
    code = (tmp_path / "out" / f"{project.name}.c").read_text()
    calls = re.findall(r"rows_next\(rows(\d)_steps, (\w+), arena, progress(\d?)\)", code)
    assert calls == [("0", SEEDS[seed][0], ""), ("1", SEEDS[seed][1], "1")]
