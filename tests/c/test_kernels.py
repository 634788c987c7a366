"""Every C kernel on this machine, under sanitizers, against the integer references."""

import re
from functools import partial
from itertools import product

import numpy as np
import pytest

from tests.c.by_op import answers_by_op
from tests.c.conformance import (
    C_OPS,
    F32_OPS,
    all_float_ops,
    all_int4_ops,
    all_int16_ops,
    all_ops,
    graph_of,
)
from tests.c.floats import assert_close
from tests.c.host import BESIDE, build_program, run_program
from tests.ops.build import build_f32
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt import kernels_c
from tinyrt.backends.c.choice import KERNELS
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.unsupported import NOT_ON_DEVICES

pytestmark = pytest.mark.slow

SEEDS = range(sampled(3, 40))
FEW = range(sampled(3, 20))
"""A few random cases beside those of ``test_corners``, which come to every kernel."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Answers of the C program with tensors beside and inside the arena."""
    folder = tmp_path_factory.mktemp("kernels")
    return answers_by_op(partial(all_ops, SEEDS), C_OPS, folder, ("beside", "arena"))


def outputs_of(answers, op):
    """How many outputs an op's cases have: at least one each, next states too."""
    count = sum(name.split("/")[0] == op for name in answers.expected)
    assert count % len(SEEDS) == 0 < count
    return count


@pytest.mark.parametrize("op", C_OPS)
def test_kernel_equals_reference(answers, op):
    compared = answers.of(op)
    assert len(compared) == 2 * outputs_of(answers, op)
    for name, found, expected in compared:
        np.testing.assert_array_equal(found, expected, err_msg=name, strict=True)


@pytest.mark.parametrize(
    ("core", "cases"),
    sampled(
        # The others are those of ``test_packed`` and ``test_corners``.
        [("cortex-m3", all_int16_ops)],
        [*product(("cortex-m3", "cortex-m4"), (all_int16_ops, all_int4_ops))],
    ),
)
def test_kernels_on_other_widths_equal_the_references(tmp_path, cases, core):
    graph, feeds = cases(FEW)
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


def test_transforms_of_pairs_equal_the_references(tmp_path):
    cases = {op: CASES[op] for op in ("signal_rfft", "signal_irfft")}
    graph, feeds = graph_of(cases, range(sampled(20, 60)), build_f32)
    project = export_graph(
        graph, tmp_path / "project", core="cortex-m4", options=ExportOptions(memories=BESIDE)
    )
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split("/")[0], found[name], expected)


@pytest.fixture(scope="module")
def float_answers(tmp_path_factory):
    """Answers of the C program in float."""
    folder = tmp_path_factory.mktemp("floats")
    return answers_by_op(partial(all_float_ops, SEEDS), F32_OPS, folder)


@pytest.mark.parametrize("op", F32_OPS)
def test_float_kernel_is_near_reference(float_answers, op):
    compared = float_answers.of(op)
    assert len(compared) == outputs_of(float_answers, op)
    for _, found, expected in compared:
        assert_close(op, found, expected)


def test_every_op_has_a_kernel_for_every_form():
    floats = {name for name, spec in OPS.items() if spec.ref_f32 is not None}
    assert set(F32_OPS) == floats - set(NOT_ON_DEVICES)
    missing = [
        (name, form)
        for name, spec in OPS.items()
        for form in spec.forms
        if form not in KERNELS.get(name, {})
    ]
    assert not missing


def test_file_is_named_after_its_function():
    for path in sorted(kernels_c.SRC.glob("*.c")):
        # A loop that several kernels share gets the function's name as a macro.
        named = rf"^(\w+ {path.stem}\(|#define \w+ {path.stem}$)"
        assert re.search(named, path.read_text(), re.MULTILINE), path.name
        assert kernels_c.header(kernels_c.own_header(path)).is_file()
