"""Layers whose weights or biases the model computes: C under sanitizers, against the references."""

from functools import partial

import numpy as np
import pytest

from tests.c.computed import LAYERS, computed
from tests.c.conformance import graph_of
from tests.c.floats import assert_close
from tests.c.host import BESIDE, build_program, run_program
from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ops.shared.evaluate import evaluate

SEEDS = range(sampled(3, 60))
CORES = ("cortex-m3", "cortex-m4")
BUILDS = (build_s8, build_s16, build_f32)
SAMPLE = [("cortex-m3", build_s8), *(("cortex-m4", build) for build in BUILDS[1:])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "make"), sampled(SAMPLE, [(core, build) for core in CORES for build in BUILDS])
)
def test_kernels_equal_the_references(make, core, tmp_path):
    graph, feeds = graph_of({op: CASES[op] for op in LAYERS}, SEEDS, partial(computed, make))
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        if make is build_f32:
            assert_close(name.split("/")[0], found[name], expected)
        else:
            np.testing.assert_array_equal(found[name], expected, err_msg=name)
