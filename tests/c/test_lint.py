"""All kernels and generated files, as other readers of C see them: clang and cppcheck."""

import subprocess
from pathlib import Path

import pytest

from tests.c.conformance import C_OPS, graph_of
from tests.c.host import require_tool
from tests.c.packed_cases import PACKED_CASES
from tests.firmware.device import require_core
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.export import export_graph, find_core

pytestmark = pytest.mark.slow

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wvla", "-Werror"]

CLANG = {
    "cortex-m0": ("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0"),
    "cortex-m4": ("--target=thumbv7em-none-eabihf", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"),
    "cortex-m55": ("--target=thumbv8.1m.main-none-eabihf", "-mcpu=cortex-m55"),
    "rv32imc": ("--target=riscv32-unknown-elf", "-march=rv32imc", "-mabi=ilp32"),
}
"""Core -> clang's options; one for each set of kernels."""

MACROS = {
    "cortex-m0": ("-D__arm__=1", "-D__ARM_ARCH_ISA_THUMB=1"),
    "cortex-m4": ("-D__arm__=1", "-D__ARM_ARCH_ISA_THUMB=2", "-D__ARM_FEATURE_DSP=1"),
    "cortex-m55": ("-D__arm__=1", "-D__ARM_ARCH_ISA_THUMB=2", "-D__ARM_FEATURE_MVE=3"),
}
"""Core -> what its compiler defines, for cppcheck."""

CPPCHECK = (
    *("cppcheck", "--quiet", "--std=c99", "--platform=unix32", "--error-exitcode=1"),
    *("--enable=warning,performance,portability", "-D__GNUC__=12", "-D__OPTIMIZE__=1"),
    # Right shifts of negative numbers are arithmetic in all compilers that the kernels are for.
    "--suppress=shiftTooManyBitsSigned",
)


@pytest.fixture(scope="module")
def graph():
    packed = {f"packed {name}": case for name, case in PACKED_CASES.items()}
    return graph_of({op: CASES[op] for op in C_OPS} | packed, range(1))[0]


def checked(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def headers_of(core):
    """The folder of the C library's headers that the core's own compiler uses."""
    command = [core.compiler, *core.flags, "-x", "c", "-M", "-"]
    done = subprocess.run(
        command, input="#include <string.h>\n", capture_output=True, text=True, check=True
    )
    header = next(word for word in done.stdout.split() if word.endswith("/string.h"))
    return Path(header).parent


@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*CLANG]))
def test_clang_has_nothing_to_warn_of(graph, tmp_path, core):
    require_tool("clang")
    require_core(core)
    export_graph(graph, tmp_path / "project", core=core)
    options = [*CLANG[core], "-isystem", headers_of(find_core(core)), "-std=c99", "-O2", *WARNINGS]
    sources = sorted((tmp_path / "project").rglob("*.c"))[:: sampled(3, 1)]
    checked(["clang", *options, "-Itinyrt", "-fsyntax-only", *sources], tmp_path / "project")
    # What is assembly for GCC is C for clang, whose allocator runs out of registers.
    for source in tmp_path.rglob("tinyrt_block_s8.c"):
        checked(["clang", *options, "-Itinyrt", "-c", source], tmp_path / "project")


@pytest.mark.whole
@pytest.mark.parametrize("core", [*MACROS])
def test_cppcheck_finds_nothing(graph, tmp_path, core):
    require_tool("cppcheck")
    project = export_graph(graph, tmp_path / "project", core=core)
    checked([*CPPCHECK, *MACROS[core], "-Itinyrt", "-I.", "."], project.directory)
