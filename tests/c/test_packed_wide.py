"""Layers of int16 over packed weights, under sanitizers: random shapes, ends of their ranges."""

import numpy as np
import pytest

from tests.c.conformance import graph_of, other_data
from tests.c.host import BESIDE, build_program, run_program
from tests.c.packed_cases import PACKED_CASES
from tests.ops.build import build_s16
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CASES = {n: PACKED_CASES[n] for n in ("pointwise", "window", "dense", "grouped")}
SHAPES = range(sampled(10, 400))


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m3", "cortex-m4"]))
def test_random_layers_equal_the_references(tmp_path, core):
    graph, feeds = graph_of(CASES, SHAPES, build_s16)
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    assert "tinyrt_conv2d_block_s16" in project.kernels
    program = build_program(project, tmp_path)
    rng = np.random.default_rng(1)
    for data in (feeds, other_data(feeds, rng), other_data(feeds, rng)):
        found = run_program(program, project, data, "beside")
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)
