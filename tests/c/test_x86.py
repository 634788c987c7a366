"""The kernels for x86 hosts under sanitizers, against the integer references."""

import numpy as np
import pytest

from tests.backends.lane_cases import layers_of_every_tile
from tests.c.conformance import graph_of
from tests.c.host import BESIDE, build_program, host_compiler, run_program
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.export.target import find_core
from tinyrt.interpreter.native import CORES, core_of
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

OPS = ("add", "average_pool2d", "conv2d", "depthwise_conv2d", "fully_connected", "sub")
"""Those that have kernels of their own."""

SEEDS = range(sampled(4, 60))


def random_layers():
    return graph_of({op: CASES[op] for op in OPS}, SEEDS)


@pytest.mark.parametrize("layers", [random_layers, layers_of_every_tile])
@pytest.mark.parametrize("core", [c for c in CORES if c.startswith("host-")])
def test_kernels_equal_references(tmp_path, core, layers):
    cores = list(CORES)
    if cores.index(core) < cores.index(core_of(host_compiler())):
        pytest.skip(f"this processor cannot run {core}")
    graph, feeds = layers()
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    program = build_program(project, tmp_path, *find_core(core).flags)
    found = run_program(program, project, feeds, "beside")
    expected = evaluate(graph, feeds)
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name, strict=True)
