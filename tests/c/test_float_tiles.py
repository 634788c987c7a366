"""Float kernels by tiles in C, under sanitizers: what every core computes without assembly."""

import numpy as np
import pytest

from tests.c.float_tiles import every_corner, special_values
from tests.c.floats import assert_close
from tests.c.host import BESIDE, build_program, run_program
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ops.shared.evaluate import evaluate


def answers(graph, feeds, folder, core):
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, folder / "project", core=core, options=options)
    return run_program(build_program(project, folder), project, feeds, "beside")


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m3", "cortex-m4"]))
def test_corners_are_near_the_references(tmp_path, core):
    graph, feeds = every_corner()
    found = answers(graph, feeds, tmp_path, core)
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split()[0], found[name], expected)


def test_limits_leave_what_is_no_number(tmp_path):
    graph, feeds = special_values()
    found = answers(graph, feeds, tmp_path, "cortex-m4")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)
