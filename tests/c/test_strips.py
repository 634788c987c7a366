"""The kernels of RISC-V cores with vectors, in their form in C, under sanitizers."""

import numpy as np
import pytest

from tests.c.host import BESIDE, build_program, run_program
from tests.c.programs import one_graph
from tests.c.strip_cases import of_strips
from tests.firmware.test_slices_ops import smallest
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph, slices
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORE = "rv32imcv"
KERNELS = {f"tinyrt_{name}_strips_s8" for name in ("conv2d", "depthwise", "dense")}


@pytest.mark.parametrize("sliced", sampled([True], [False, True]))
def test_layers_equal_the_references(tmp_path, monkeypatch, sliced):
    graph, feeds = one_graph(of_strips(sampled(12, 60)))
    monkeypatch.setattr(slices, "divided", smallest)
    options = ExportOptions(memories=BESIDE, slices=1000 if sliced else None)
    project = export_graph(graph, tmp_path / "project", core=CORE, options=options)
    assert set(project.kernels) >= KERNELS
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)
