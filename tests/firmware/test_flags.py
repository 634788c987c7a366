"""Exported code under the flags of other people's projects: no warnings, and the same answers.

Frame pointers, fixed registers and static bases take registers that the loops in assembly would
have, and levels of optimisation choose between these and C. ``TINYRT_TESTS=all`` has all flags on
all cores: ``TINYRT_TESTS=all pytest tests/firmware/test_flags.py``.
"""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.c.packed_cases import (
    INT4_CASES,
    PACKED_CASES,
    RELU_CASES,
    SPARSE_CASES,
    int4_weights,
    narrow_lstm,
    relu_outputs,
    sparse_weights,
    vector_sparse_rows,
    vector_sparse_weights,
)
from tests.c.programs import drawn, one_graph
from tests.firmware.compilers import OTHER, by_clang, with_options
from tests.firmware.device import require_core
from tests.firmware.test_slices_ops import smallest
from tests.ops.build import build_s8
from tests.ops.cases import CASES
from tests.sampling import WHOLE, sampled
from tinyrt.emulate import build_image, image, run_image, toolchain
from tinyrt.emulate.image import build_library
from tinyrt.emulate.run import unpack_outputs
from tinyrt.errors import ToolError
from tinyrt.export import ExportOptions, export_graph, find_core, slices
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

WARNINGS = "-Wall -Wextra -Wconversion -Wpedantic -Werror"

CORES = ("cortex-m0", "cortex-m4", "cortex-m55")

LTO = "-O2 -flto"
FAST = "-O2 -DTINYRT_FAST"
FLAGS = {
    "O0": "-O0",
    "Og": "-Og",
    "O1": "-O1",
    "O2": "-O2",
    "O3": "-O3",
    "Os": "-Os",
    "for speed": FAST,
    "LTO": LTO,
    "frame pointer": "-O2 -fno-omit-frame-pointer",
    "frame pointer, for size": "-Os -fno-omit-frame-pointer",
    "fixed register": "-O2 -ffixed-r9",
    "Thumb frames": "-O2 -mtpcs-frame",
    "position-independent": "-O2 -fPIC",
    "no assembly": "-O2 -DTINYRT_NO_ASM",
    "plain C": "-O2 -DTINYRT_NO_ASM -DTINYRT_NO_ACLE",
    "another compiler": f"-O2 {OTHER}",
    "another compiler, O3": f"-O3 {OTHER}",
}
"""What the library is compiled with instead of -O2."""

TWO_REGISTERS = "-O2 -fno-omit-frame-pointer -ffixed-r9"
STATIC_BASE = "-O2 -fPIC -msingle-pic-base"

ALL = [(core, name) for core in CORES for name in FLAGS]
SAMPLE = [("cortex-m0", "frame pointer")]
"""Tests of single kernels have more flags on other cores."""

LAYERS = ("conv2d", "depthwise_conv2d", "fully_connected", "add")
OTHERS = ("mul", "max_pool2d", "mean", "minimum", "softmax", "arg_max")
PACKED = (
    *("pointwise", "window", "dense", "depthwise", "depthwise3x3", "depthwise_dilated"),
    *("grouped", "add", "lstm", "svdf", "long_row", "one_channel"),
)
INT4 = ("pointwise", "dense", "depthwise3x3")
"""A sample of layers, between them with all that is in assembly."""

few_blocks = partial(vector_sparse_weights, shares=(0.2,))

LOOPS = ("pointwise", "window", "dense", "depthwise3x3")
"""Enough for what fails, whatever the layer."""


UNALIGNED = ["cortex-m4", "cortex-m55"]
"""Cores that load words at any address, unless they are told to trap that."""


def some_layers(which=slice(None)):
    """The sample of them."""
    made = {
        **drawn("int8", {op: CASES[op] for op in LAYERS}, range(1), build_s8),
        **drawn("packed", {name: PACKED_CASES[name] for name in PACKED}, range(1), build_s8),
        **drawn("relu", RELU_CASES, range(1), relu_outputs),
        **drawn("int4", {name: INT4_CASES[name] for name in INT4}, range(1), int4_weights),
        **drawn("int4", {"lstm": PACKED_CASES["lstm"]}, range(1), narrow_lstm),
        **drawn("sparse", SPARSE_CASES, range(1), sparse_weights),
        **drawn("sparse", {"rows": vector_sparse_rows}, range(1), few_blocks),
    }
    return one_graph(dict(list(made.items())[which]))


def all_layers():
    """Layers of all kinds of weights, and ops that copy and add."""
    return one_graph(
        {
            **drawn("int8", {op: CASES[op] for op in LAYERS + OTHERS}, range(2), build_s8),
            **drawn("packed", PACKED_CASES, range(1), build_s8),
            **drawn("relu", RELU_CASES, range(1), relu_outputs),
            **drawn("int4", INT4_CASES, range(1), int4_weights),
            **drawn("int4", {"lstm": PACKED_CASES["lstm"]}, range(1), narrow_lstm),
            **drawn("sparse", SPARSE_CASES, range(1), sparse_weights),
            **drawn("sparse", {"rows": vector_sparse_rows}, range(1), few_blocks),
        }
    )


@pytest.fixture(scope="module")
def halves():
    """Every other layer, and those between, each with their answers: what has no loops in assembly,
    or has them tested below, takes one or the other."""
    made = [all_layers()] if WHOLE else [some_layers(slice(i, None, 2)) for i in range(2)]
    found = [(layers, evaluate(*layers)) for layers in made]
    return [found[0], found[-1]]


@pytest.fixture(scope="module")
def few():
    """Layers with kernels in assembly."""
    packed = {name: PACKED_CASES[name] for name in LOOPS}
    return one_graph(drawn("packed", packed, range(1), build_s8))


@pytest.fixture(scope="module")
def loops(few):
    """These with their answers, or all layers with theirs."""
    made = all_layers() if WHOLE else few
    return made, evaluate(*made)


def exported(program, folder, core, flags, **options):
    """The project, whose Makefile has these flags and warnings."""
    require_core(core)
    project = export_graph(
        program[0], folder / "project", core=core, options=ExportOptions(**options)
    )
    with_options(project, flags, WARNINGS)
    if flags == LTO:
        makefile = project.directory / "Makefile"
        makefile.write_text(makefile.read_text().replace("$(AR) rcs", "$(CC)-ar rcs"))
    return project


def check(program, expected, folder, core, flags, **options):
    """Exact on the device."""
    run_and_compare(program, expected, folder, exported(program, folder, core, flags, **options))


def run_and_compare(program, expected, folder, project):
    data = b"".join(program[1][port.name].tobytes() for port in project.inputs)
    found = run_image(build_image(project, folder), data, folder)
    answers = unpack_outputs(project.outputs, found.outputs, 1)
    for name, values in expected.items():
        np.testing.assert_array_equal(answers[name].reshape(values.shape), values, err_msg=name)


def trapping(project):
    """The project, whose harness makes words at other addresses than multiples of four faults."""
    flags = (*project.core.flags, "-mno-unaligned-access", "-DHARNESS_TRAP_UNALIGNED")
    return replace(project, core=replace(project.core, flags=flags))


def test_the_sample_is_of_all_flags():
    assert set(SAMPLE) <= set(ALL)


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_the_sample_is_of_all_assembly(tmp_path, core):
    made = []
    for layers in (some_layers, all_layers):
        project = export_graph(layers()[0], tmp_path / layers.__name__, core=core)
        files = (project.directory / "tinyrt").iterdir()
        made.append({file.name for file in files if "__asm" in file.read_text()})
    assert made[0] == made[1] != set()


@pytest.mark.parametrize(("core", "name"), sampled(SAMPLE, ALL))
def test_code_is_exact_under_any_flags(halves, tmp_path, core, name):
    check(*halves[core == "cortex-m55"], tmp_path, core, FLAGS[name])


@pytest.mark.whole
@pytest.mark.parametrize(("core", "name"), ALL)
def test_code_in_slices_is_exact_under_any_flags(halves, tmp_path, monkeypatch, core, name):
    """In the smallest that there are."""
    program, expected = halves[0]
    monkeypatch.setattr(slices, "divided", smallest)
    project = exported(program, tmp_path, core, FLAGS[name], slices=1000)
    assert project.slices.count > 2 * len(program[0].nodes)
    run_and_compare(program, expected, tmp_path, project)


@pytest.mark.whole
@pytest.mark.parametrize(("core", "name"), ALL)
def test_code_that_reads_a_blob_is_exact_under_any_flags(halves, tmp_path, core, name):
    check(*halves[1], tmp_path, core, FLAGS[name], blob=True)


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
def test_two_registers_may_be_kept(halves, tmp_path, core):
    check(*halves[1], tmp_path, core, TWO_REGISTERS)


def around_static_base(project):
    """The project, whose harness sets r9 to the table of addresses, and leaves it alone."""
    flags = (*project.core.flags, "-ffixed-r9", "-DHARNESS_STATIC_BASE")
    return replace(project, core=replace(project.core, flags=flags))


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_code_around_a_static_base_is_exact(loops, tmp_path, core):
    program, expected = loops
    project = around_static_base(exported(program, tmp_path, core, STATIC_BASE))
    run_and_compare(program, expected, tmp_path, project)


@pytest.mark.whole
def test_code_around_a_static_base_needs_it(few, tmp_path):
    """What the harness sets, and so what the test before is worth."""
    project = exported(few, tmp_path, "cortex-m4", STATIC_BASE)
    with pytest.raises(ToolError, match="the processor faulted"):
        run_and_compare(few, evaluate(*few), tmp_path, project)


@pytest.mark.whole
def test_a_register_that_the_vectors_need_is_not_taken(few, tmp_path):
    """A Cortex-M55's loop over patches names r8 and r10: a compiler that keeps one says so."""
    project = exported(few, tmp_path, "cortex-m55", "-O2 -ffixed-r10")
    with pytest.raises(ToolError, match="impossible constraints"):
        build_library(project, tmp_path)


@pytest.mark.whole
def test_words_at_any_address_are_trapped(few, tmp_path):
    """What the emulator does, and so what the next test is worth."""
    project = trapping(exported(few, tmp_path, "cortex-m4", "-O2 -munaligned-access"))
    with pytest.raises(ToolError, match="the processor faulted"):
        run_and_compare(few, evaluate(*few), tmp_path, project)


@pytest.mark.parametrize("optimize", sampled(["-O2"], ["-O2", "-O2 -DTINYRT_NO_ASM", "-O0", "-Os"]))
@pytest.mark.parametrize("core", sampled(UNALIGNED[:1], UNALIGNED))
def test_code_without_unaligned_words_runs_where_these_fault(loops, tmp_path, core, optimize):
    program, expected = loops
    project = exported(program, tmp_path, core, optimize, unaligned=False)
    run_and_compare(program, expected, tmp_path, trapping(project))


@pytest.mark.whole
def test_the_compiler_s_option_is_enough(few, tmp_path):
    project = exported(few, tmp_path, "cortex-m4", "-O2")
    run_and_compare(few, evaluate(*few), tmp_path, trapping(project))


def test_code_without_unaligned_words_does_not_compile_with_them(few, tmp_path):
    project = exported(few, tmp_path, "cortex-m4", "-O2", unaligned=False)
    with pytest.raises(ToolError, match="compile with -mno-unaligned-access"):
        build_library(replace(project, core=find_core("cortex-m4")), tmp_path)


CLANG_FLAGS = {
    **{level: f"-{level}" for level in ("O0", "O1", "O2", "O3", "Os", "Oz")},
    "for speed": FAST,
    "no frame pointer": "-O2 -fomit-frame-pointer",
    "frame pointer": "-O2 -fno-omit-frame-pointer",
    "fixed register": "-O2 -fomit-frame-pointer -ffixed-r9",
    "position-independent": "-O2 -fPIC",
    "read-only position-independent": "-O2 -fropi",
    "no assembly": "-O2 -DTINYRT_NO_ASM",
    "plain C": "-O2 -DTINYRT_NO_ASM -DTINYRT_NO_ACLE",
}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("core", "name"),
    [(core, name) for core in CORES for name in CLANG_FLAGS],
)
def test_code_is_exact_from_clang(halves, tmp_path, core, name):
    program, expected = halves[core == "cortex-m55"]
    project = exported(program, tmp_path, core, CLANG_FLAGS[name])
    by_clang(project)
    run_and_compare(program, expected, tmp_path, project)


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_code_around_clang_s_static_base_is_exact(few, tmp_path, monkeypatch, core):
    """The base may be anything: exported code has no variables. GCC's objects say nothing of it."""
    monkeypatch.setattr(image, "LINK_FLAGS", (*image.LINK_FLAGS, "-Wl,--no-warn-mismatch"))
    project = exported(few, tmp_path, core, "-O2 -fno-omit-frame-pointer -fropi -frwpi")
    by_clang(project)
    run_and_compare(few, evaluate(*few), tmp_path, project)


def test_clang_says_where_it_has_too_few_registers(few, tmp_path):
    """First: then it goes on with registers that the assembler does not take."""
    flags = "-O2 -fno-omit-frame-pointer -ffixed-r9 -ferror-limit=1 -fno-caret-diagnostics"
    project = exported(few, tmp_path, "cortex-m4", flags)
    by_clang(project)
    with pytest.raises(ToolError, match="requires more registers than available"):
        build_library(project, tmp_path)


@pytest.mark.whole
def test_clang_s_loops_keep_off_a_fixed_register(few, tmp_path):
    """They store what is in it, as they do with one that is free, and load it from there."""
    project = exported(few, tmp_path, "cortex-m4", CLANG_FLAGS["fixed register"])
    by_clang(project)
    library = build_library(project, tmp_path)
    listing = [f"{project.core.prefix}objdump", "-d", "--no-show-raw-insn", library]
    lines = toolchain.run(listing, doing="disassembling").splitlines()
    seen = [re.split(r"\s+", line.strip(), maxsplit=2)[1:] for line in lines if "r9" in line]
    assert seen
    for name, operands in seen:
        assert re.match(r"strd?", name) or (name, operands) == ("ldr.w", "r9, [sp], #8"), operands
