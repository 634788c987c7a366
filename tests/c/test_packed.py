"""The packed kernels of scalar and DSP cores on this machine, under sanitizers.

DSP instructions have twins in C, so that the bodies of these cores' kernels run here, too.
"""

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.host import build_program, run_program
from tests.c.packed_cases import PACKED_CASES
from tinyrt.export import export_graph
from tinyrt.ops.evaluate import evaluate

SEEDS = range(20)
PACKED = {
    "tinyrt_dense_s8",
    "tinyrt_dense_row_s8",
    "tinyrt_window_block_s8",
    "tinyrt_depthwise_block_s8",
    "tinyrt_depthwise3x3_s8",
    "tinyrt_sum_s8",
    "tinyrt_clamp_s8",
}


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_packed_kernels_equal_the_references(tmp_path, core):
    graph, feeds = graph_of(PACKED_CASES, SEEDS)
    project = export_graph(graph, tmp_path / "project", core=core)
    assert set(project.kernels) >= PACKED
    outputs = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)
