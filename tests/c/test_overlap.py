"""Kernels whose output lies on their input, as far as they say that it may, under sanitizers."""

import numpy as np
import pytest

from tests.c.conformance import C_OPS, F32_OPS, INT4_OPS, INT16_OPS, graph_of
from tests.c.floats import assert_close
from tests.c.host import build_program, run_program
from tests.c.overlapping import (
    SWEPT_OPS,
    overlapping_cases,
    overlapping_ops,
    overlapping_plan,
)
from tests.memory.targets import kernels_for
from tests.ops.build import Case, build_f32, build_s8, build_s16
from tests.sampling import sampled
from tinyrt.export import bundle, export_graph
from tinyrt.ir import DType
from tinyrt.memory.sweep import ELEMENT_STEPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

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


@pytest.mark.parametrize("core", sampled(["cortex-m3"], ["cortex-m3", "cortex-m4", "cortex-m55"]))
def test_int8_outputs_on_inputs(tmp_path, core):
    graph, feeds = overlapping_cases(C_OPS, SEEDS)
    found, overlapping = answers_on(graph, feeds, tmp_path, core)
    assert overlapping >= set(SWEPT_OPS) & set(C_OPS) - NEVER_IN_REACH
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


CHOICES = (DType.BOOL, DType.FLOAT32, DType.FLOAT32)

LONG = {
    f"{op}, {dtype.short}, {'x'.join(map(str, shape))}": Case(op, ArgAttrs(axis, dtype), (shape,))
    for op in ("arg_max", "arg_min")
    for dtype in (DType.INT32, DType.INT64)
    for shape, axis in (((199, 2), -1), ((130, 9), -1), ((3, 130), 0))
} | {
    "transpose": Case("transpose", TransposeAttrs((0, 2, 1)), ((2, 13, 17),)),
    "slice": Case("slice", SliceAttrs((0, 1, 0), (2, 7, 11), (1, 2, 1)), ((2, 15, 11),)),
    "gather": Case("gather", GatherAttrs(1, (4, 1, 2, 2, 8), (5,)), ((3, 9, 11),)),
    "mirror_pad": Case("mirror_pad", MirrorPadAttrs(((0, 0), (3, 2)), "REFLECT"), ((13, 11),)),
    "concatenation": Case("concatenation", ConcatenationAttrs(1), ((13, 4), (13, 7))),
    "resize": Case("resize_bilinear", ResizeAttrs((9, 7)), ((2, 12, 10, 3),)),
    "select": Case(
        *("select_v2", NoAttrs(), ((13, 11),) * 3, frozenset({1, 2})), input_dtypes=CHOICES
    ),
    "add": Case("add", AddAttrs(), ((13, 11), (13, 11))),
    "add of one": Case("add", AddAttrs(), ((13, 11), (1, 1))),
}
"""Cases with more outputs than a sweep has steps."""


@pytest.mark.parametrize(
    ("core", "build"),
    [
        pytest.param("cortex-m3", build_s8, marks=pytest.mark.whole),
        ("cortex-m4", build_s8),
        ("cortex-m4", build_f32),
    ],
)
def test_steps_of_several_outputs_on_inputs(tmp_path, core, build):
    cases = {name: lambda _, case=case: case for name, case in LONG.items()}
    graph, feeds = graph_of(cases, (0,), build)
    found, _ = answers_on(graph, feeds, tmp_path, core)
    assert min(value.size for value in graph.output_values) > ELEMENT_STEPS
    for name, expected in evaluate(graph, feeds).items():
        if expected.dtype == np.float32:
            assert_close(graph.producer(name).op, found[name], expected)
        else:
            np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("build", [build_s16, lambda c, r: build_s8(c, r, weights=DType.INT4)])
def test_outputs_of_other_widths_on_inputs(tmp_path, build):
    ops = INT16_OPS if build is build_s16 else INT4_OPS
    graph, feeds = overlapping_cases(ops, range(4), build)
    core = sampled("cortex-m3", "cortex-m4") if build is build_s16 else "cortex-m4"
    found, _ = answers_on(graph, feeds, tmp_path, core)
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


def test_float_outputs_on_inputs(tmp_path):
    graph, feeds = overlapping_cases(F32_OPS, range(4), build_f32)
    found, _ = answers_on(graph, feeds, tmp_path, sampled("cortex-m4", "cortex-m3"))
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split("/")[0], found[name], expected)
