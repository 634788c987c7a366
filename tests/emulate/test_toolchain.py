"""Compilers are asked whether they know a core: briefly, with its flags, and for a C library."""

from types import SimpleNamespace

import pytest

from tinyrt.emulate import image, toolchain
from tinyrt.emulate.boards import BOARDS
from tinyrt.errors import ToolError
from tinyrt.export import CORES, find_core
from tinyrt.tools import PROBE_S, Finished

CORE = find_core("cortex-m4")


@pytest.fixture
def compiler(monkeypatch):
    """Lets every program be there and end so; returns what they were asked."""

    def ends(status, out="", err=""):
        calls = []

        def run_tool(command, **options):
            calls.append(([str(part) for part in command], options))
            return Finished(status, out, err)

        monkeypatch.setattr(toolchain, "run_tool", run_tool)
        monkeypatch.setattr(toolchain.shutil, "which", lambda name: f"/bin/{name}")
        return calls

    return ends


def test_a_compiler_is_asked_briefly_with_the_core_s_flags(compiler):
    calls = compiler(0)
    assert toolchain.knows(CORE)
    ((command, options),) = calls
    assert command[: 1 + len(CORE.flags)] == [CORE.compiler, *CORE.flags]
    assert options == {"input_text": "#include <string.h>\n", "limit_s": PROBE_S}


@pytest.mark.parametrize(
    ("status", "err", "knows"),
    [(0, "", True), (0, "a warning", True), (1, "unrecognized", False), (1, "", False)],
)
def test_its_status_says_whether_it_knows_the_core(compiler, status, err, knows):
    compiler(status, "", err)
    assert toolchain.knows(CORE) is knows


@pytest.mark.parametrize(
    ("err", "says"), [("no such core\nmore", "no such core"), ("", "status 7")]
)
def test_what_it_says_against_a_core_is_told(compiler, err, says):
    compiler(7, "", err)
    with pytest.raises(ToolError) as caught:
        toolchain.require_core(CORE)
    assert f"does not build for cortex-m4: {says}" in str(caught.value)
    assert "more" not in caught.value.problem


def test_a_core_that_is_known_is_not_refused(compiler):
    compiler(0, err="a warning")
    toolchain.require_core(CORE)


def test_a_compiler_that_is_missing_is_not_asked(compiler, monkeypatch):
    calls = compiler(0)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    assert not toolchain.knows(CORE)
    assert calls == []


def test_a_program_s_output_is_what_it_wrote_to_standard_output(compiler, tmp_path):
    calls = compiler(0, "out", "err")
    assert toolchain.run(["size", 1], doing="reading", cwd=tmp_path) == "out"
    assert calls == [(["size", "1"], {"cwd": tmp_path})]


@pytest.mark.parametrize("status", [1, -9])
def test_a_program_that_fails_is_named_by_what_it_did(compiler, status):
    compiler(status, "out\n", "err\n")
    with pytest.raises(ToolError, match=r"reading failed:\nout\nerr"):
        toolchain.run(["size"], doing="reading")


def test_a_link_that_fails_for_another_reason_than_memory_says_what_the_linker_said(compiler):
    compiler(1, err="undefined reference to `net_invoke'")
    with pytest.raises(ToolError) as caught:
        image.link_for(["ld"], BOARDS["microbit"])
    assert "linking for microbit failed:\nundefined reference to `net_invoke'" in str(caught.value)
    assert "does not fit" not in str(caught.value)


@pytest.mark.parametrize("core", ["host", "cortex-m4"])
def test_a_record_is_as_long_on_any_core(core, compiler, monkeypatch, tmp_path):
    compiler(0)
    told = []
    monkeypatch.setattr(image, "bring_model", lambda *to, samples: told.append((*to, samples)))
    steps = ("bring_harness", "link_image", "link_program", "stack_bound")
    for step in (*steps, "sizes_of_image", "sizes_of_library"):
        monkeypatch.setattr(image, step, lambda *given: None)
    project = SimpleNamespace(core=find_core(core), name="net", weights_section=None)
    built = image.build_image(project, tmp_path, samples=30)
    assert told == [(project, tmp_path if built.board is None else tmp_path / "image", 30)]


def test_only_what_is_missing_is_named_and_its_packages_once(monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None if "arm" in name else name)
    toolchain.require("make", "cc")
    with pytest.raises(ToolError) as caught:
        toolchain.require("make", "arm-none-eabi-size", "arm-none-eabi-ar", "arm-none-eabi-gcc")
    missing = "arm-none-eabi-size, arm-none-eabi-ar, arm-none-eabi-gcc"
    assert caught.value.problem == f"not installed: {missing}"
    packages = "binutils-arm-none-eabi gcc-arm-none-eabi libnewlib-arm-none-eabi"
    assert caught.value.hint == f"apt-get install {packages}"


def test_every_program_that_a_build_needs_has_packages():
    needed = {"make", *(board.qemu for board in BOARDS.values())}
    for core in CORES.values():
        needed |= {core.compiler, core.archiver, f"{core.prefix}size"}
    assert needed <= toolchain.PACKAGES.keys()
