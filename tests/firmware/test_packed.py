"""The packed kernels on emulated cores, whose instructions the host's compiler does not have."""

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.packed_cases import PACKED_CASES
from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import export_graph
from tinyrt.ops.evaluate import evaluate


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4"])
def test_packed_kernels_on_the_device(tmp_path, core):
    graph, feeds = graph_of(PACKED_CASES, range(12))
    project = export_graph(graph, tmp_path / "project", core=core)
    data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
    found = run_image(build_image(project, tmp_path), data, tmp_path)
    outputs = unpack_outputs(project.outputs, found.outputs, 1)
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(outputs[name].ravel(), expected.ravel(), err_msg=name)
