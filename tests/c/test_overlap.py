"""Kernels whose output lies on their input, as far as they say that it may, under sanitizers."""

import numpy as np
import pytest

from tests.c.conformance import C_OPS, F32_OPS, INT4_OPS, INT16_OPS
from tests.c.floats import assert_close
from tests.c.host import build_program, run_program
from tests.c.overlapping import (
    SWEPT_OPS,
    overlapping_cases,
    overlapping_ops,
    overlapping_plan,
)
from tests.memory.targets import kernels_for
from tests.ops.build import build_f32, build_s8, build_s16
from tests.sampling import sampled
from tinyrt.export import bundle, export_graph
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

SEEDS = sampled((0, 1, 2, 4), range(30))
"""The sample is of such as have each op overlap."""

NEVER_IN_REACH = {"fully_connected"}
"""Ops that compute so few outputs from so many inputs, or read them so often, that cases in which
they can overlap are rare."""


def answers_on(graph, feeds, folder, core):
    """The C program's outputs, and the ops that had inputs and outputs on each other."""
    project = export_graph(graph, folder / "project", core=core)
    found = run_program(build_program(project, folder), project, feeds, "arena")
    return found, overlapping_ops(graph, overlapping_plan(graph, kernels_for(core)))


@pytest.fixture(autouse=True)
def plans(monkeypatch):
    monkeypatch.setattr(bundle, "plan_memory", overlapping_plan)


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4", *sampled([], ["cortex-m55"])])
def test_int8_outputs_on_inputs(tmp_path, core):
    graph, feeds = overlapping_cases(C_OPS, SEEDS)
    found, overlapping = answers_on(graph, feeds, tmp_path, core)
    assert overlapping >= set(SWEPT_OPS) & set(C_OPS) - NEVER_IN_REACH
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("build", [build_s16, lambda c, r: build_s8(c, r, weights=DType.INT4)])
def test_outputs_of_other_widths_on_inputs(tmp_path, build):
    ops = INT16_OPS if build is build_s16 else INT4_OPS
    graph, feeds = overlapping_cases(ops, range(4), build)
    found, _ = answers_on(graph, feeds, tmp_path, "cortex-m4")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


def test_float_outputs_on_inputs(tmp_path):
    graph, feeds = overlapping_cases(F32_OPS, range(4), build_f32)
    found, _ = answers_on(graph, feeds, tmp_path, "cortex-m3")
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split("/")[0], found[name], expected)
