"""Loops of dual-multiply cores on emulated cores, in every way that compilers make them."""

from functools import cache

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.nines import LAYERS
from tests.c.packed_cases import relu_outputs
from tests.firmware.compilers import by_clang, with_options
from tests.firmware.device import require_core
from tests.firmware.test_winograd import WAYS
from tests.ops.build import build_s8
from tests.sampling import sampled
from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import export_graph
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORES = ("cortex-m4", "cortex-m7", "cortex-m33")
ALL = [
    (core, way) for core in CORES for way in WAYS if core == CORES[0] or not way.startswith("clang")
]
BUILDS = (relu_outputs, build_s8)


@cache
def layers(build):
    graph, feeds = graph_of(LAYERS, range(sampled(6, 40)), build)
    return graph, feeds, evaluate(graph, feeds)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("build", "core", "way"),
    sampled(
        [(relu_outputs, CORES[0], "two registers kept")],
        [(build, *each) for build in BUILDS for each in ALL],
    ),
)
def test_loops_are_exact_on_the_device(build, tmp_path, core, way):
    require_core(core)
    graph, feeds, expected = layers(build)
    project = export_graph(graph, tmp_path / "project", core=core)
    with_options(project, WAYS[way])
    if way.startswith("clang"):
        by_clang(project)
    data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
    found = run_image(build_image(project, tmp_path), data, tmp_path)
    answers = unpack_outputs(project.outputs, found.outputs, 1)
    for name, values in expected.items():
        np.testing.assert_array_equal(answers[name].reshape(values.shape), values, err_msg=name)
