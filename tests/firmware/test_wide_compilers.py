"""Kernels of int16 by other compilers, or with fewer registers: the same answers."""

import numpy as np
import pytest

from benchmarks.kernels import LAYERS, graph_of
from tests.c.test_lint import CLANG
from tests.firmware.compilers import OTHER, by_clang, with_options
from tests.firmware.device import require_core
from tests.firmware.test_wide import wide
from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import export_graph
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate

CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55")
BUILDS = {
    "clang": "-O2",
    "others": f"-O2 {OTHER}",
    "for size": "-Os",
    "without optimisation": "-O0",
    "with a frame pointer": "-O2 -fno-omit-frame-pointer",
    "with a register less": "-O1 -fno-omit-frame-pointer -ffixed-r9",
    "without unaligned words": "-O2 -mno-unaligned-access",
}
BY_CLANG = frozenset(CORES) & CLANG.keys()
ALL = [(c, build) for c in CORES for build in BUILDS if build != "clang" or c in BY_CLANG]


def layers():
    return {
        "lstm": LAYERS["LSTM, 10 steps, 13 to 18, int16"],
        "dense": wide("fully_connected", FullyConnectedAttrs(), (3, 41), (7, 41)),
        "one tap": wide("fully_connected", FullyConnectedAttrs(), (3, 1), (5, 1)),
        "add": LAYERS["add, int16"],
    }


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize(("core", "build"), ALL)
def test_answers_are_the_same(core, build, tmp_path):
    require_core(core)
    graph, feeds = graph_of(layers())
    project = export_graph(graph, tmp_path / "project", core=core)
    with_options(project, BUILDS[build])
    if build == "clang":
        by_clang(project)
    data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
    found = unpack_outputs(
        project.outputs, run_image(build_image(project, tmp_path), data, tmp_path).outputs, 1
    )
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name].ravel(), expected.ravel(), err_msg=name)
