"""Float kernels by tiles in C, under sanitizers: what every core computes without assembly."""

import numpy as np
import pytest

from tests.c.float_tiles import every_corner, few_channels, special_values
from tests.c.floats import assert_close
from tests.c.host import BESIDE, build_program, run_program
from tests.c.overlapping import overlapping_ops, overlapping_plan
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.export import ExportOptions, bundle, export_graph
from tinyrt.ops.shared.evaluate import evaluate


def answers(graph, feeds, folder, core):
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, folder / "project", core=core, options=options)
    return run_program(build_program(project, folder), project, feeds, "beside")


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m3", "cortex-m4"]))
def test_corners_are_near_the_references(tmp_path, core):
    graph, feeds = every_corner(sampled(6, 1))
    found = answers(graph, feeds, tmp_path, core)
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split()[0], found[name], expected)


def test_limits_leave_what_is_no_number(tmp_path):
    graph, feeds = special_values()
    found = answers(graph, feeds, tmp_path, "cortex-m4")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)


def test_pixels_of_few_channels_may_lie_on_what_they_read(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "plan_memory", overlapping_plan)
    graph, feeds = few_channels()
    assert overlapping_ops(graph, overlapping_plan(graph, kernels_for("cortex-m4")))
    project = export_graph(graph, tmp_path / "project", core="cortex-m4")
    found = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split()[0], found[name], expected)
