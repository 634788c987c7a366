"""Each layout's own files are enough to build its sources, and its example, for a board."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.asked import asked
from tests.c.host import host_compiler
from tests.export.kinds import KINDS, floats
from tests.export.layouts.stand_ins import TOPS, build_with_example, lacking
from tests.export.models import dense, softmax
from tests.kept_objects import compile_sources
from tests.sampling import sampled
from tinyrt.export import (
    ExportOptions,
    export_graph,
    find_core,
)
from tinyrt.export.layouts import LAYOUTS

pytestmark = pytest.mark.slow

SHAPES = [name for name in LAYOUTS if name != "cmake"]


def core_of(layout):
    return find_core("rv32imc" if layout == "esp-idf" else "cortex-m4")


@pytest.mark.parametrize("layout", SHAPES)
def test_sources_and_example_build_from_what_the_layouts_files_list(layout, tmp_path):
    core = core_of(layout)
    options = {"core": core.name, "layout": layout, "optimize": "speed"}
    project = export_graph(softmax(4), tmp_path / "lib", **asked(**options))
    built = build_with_example(layout, project.directory, "net", core, tmp_path / "build")
    assert lacking(built, core, project.identity) == set()
    if layout in TOPS:
        commands = json.loads((built / "compile_commands.json").read_text())
        own = [entry["command"] for entry in commands if "/lib/src/" in entry["file"]]
        assert len(own) > 2
        assert all("-DTINYRT_FAST" in command for command in own)
        assert all((" -O2" in command) == (layout != "mbed") for command in own)


LISTS = {
    "cmsis-pack": "tinyrt.net.pdsc",
    "esp-idf": "CMakeLists.txt",
    "mbed": "CMakeLists.txt",
    "zephyr": "zephyr/CMakeLists.txt",
}


@pytest.mark.parametrize("layout", LISTS)
def test_every_source_is_in_the_list(layout, tmp_path):
    project = export_graph(
        dense(), tmp_path / "lib", core=core_of(layout).name, options=ExportOptions(layout=layout)
    )
    text = (project.directory / LISTS[layout]).read_text()
    sources = [f for f in project.files if f.startswith("src/") and f.endswith(".c")]
    assert len(sources) > 2
    assert [f for f in sources if text.count(f'{f}"') + text.count(f"{f}\n") != 1] == []


def test_a_source_that_is_not_listed_is_missed(tmp_path):
    """What the tests above would say of an export that forgets one."""
    core = core_of("cmsis-pack")
    project = export_graph(softmax(4), tmp_path / "lib", options=ExportOptions(layout="cmsis-pack"))
    pack = project.directory / "tinyrt.net.pdsc"
    lines = pack.read_text().splitlines(keepends=True)
    pack.write_text("".join(line for line in lines if "tinyrt_softmax_s8.c" not in line))
    built = build_with_example("cmsis-pack", project.directory, "net", core, tmp_path / "build")
    assert lacking(built, core, project.identity) == {f"net_{project.identity}_tinyrt_softmax_s8"}


# Examples run, whatever the export was asked for


def said_by_example(folder, name):
    """The lines that the example of a PlatformIO library prints on the host."""
    sources = sorted(map(str, (folder / "src").rglob("*.c")))
    example = folder / "examples" / name / "src" / "main.c"
    program = folder.parent / "program"
    options = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
    command = [host_compiler(), *options, "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    command += [f"-I{folder / 'src'}", str(example), *sources, "-lm", "-o", str(program)]
    compile_sources(command)
    return subprocess.run(
        [program], check=False, capture_output=True, text=True
    ).stdout.splitlines()


@pytest.mark.parametrize("case", sampled([*KINDS][::6], KINDS))
def test_examples_run_whatever_the_export_was_asked_for(case, tmp_path):
    export, name = KINDS[case]
    folder = tmp_path / "lib"
    export(folder, core="host", layout="platformio")
    assert not list(folder.rglob("Makefile"))
    *shown, status = said_by_example(folder, name)
    assert status == "status 0"
    assert shown
    if case == "plain":
        # Zeros stay zeros in all that this model does: their zero point.
        assert {line.split(": ")[1] for line in shown} == {"3"}


def test_examples_stop_where_the_self_test_fails(tmp_path):
    folder = tmp_path / "lib"
    project = export_graph(
        dense(), folder, core="host", options=ExportOptions(layout="platformio", selftest=1)
    )
    weights = folder / "src" / "net_weights.c"
    weights.write_text(re.sub(r"(?<=\n)    -?\d+(?=,)", "    77", weights.read_text()))
    assert project.selftest.vectors == 1
    assert said_by_example(folder, "net") == ["status -1"]


def test_what_arduino_cannot_define_the_code_defines(tmp_path):
    """Macros for speed: in build files where these can have them, in a header elsewhere."""
    for layout, optimize in (("arduino", "speed"), ("arduino", "size"), ("platformio", "speed")):
        folder = tmp_path / f"{layout}-{optimize}"
        export_graph(dense(), folder, optimize=optimize, options=ExportOptions(layout=layout))
        names = (folder / "src" / "tinyrt" / "tinyrt_names.h").read_text()
        is_said = (
            layout == "platformio" and "-DTINYRT_FAST" in (folder / "library.json").read_text()
        )
        assert ("#define TINYRT_FAST" in names, is_said) == (
            layout == "arduino" and optimize == "speed",
            layout == "platformio",
        )


def test_the_mathematical_library_is_asked_for_where_floats_need_it(tmp_path):
    for graph, is_needed in ((floats, True), (dense, False)):
        for layout, file, says in (
            ("platformio", "library.json", '"-lm"'),
            ("zephyr", "zephyr/Kconfig", "select REQUIRES_FULL_LIBC\n"),
        ):
            folder = tmp_path / f"{layout}-{is_needed}"
            export_graph(graph(), folder, options=ExportOptions(layout=layout))
            assert (says in (folder / file).read_text()) == is_needed


def test_options_that_code_needs_are_carried(tmp_path):
    for layout, file in (
        ("platformio", "library.json"),
        ("zephyr", "zephyr/CMakeLists.txt"),
        ("mbed", "CMakeLists.txt"),
    ):
        for unaligned in (True, False):
            folder = tmp_path / f"{layout}-{unaligned}"
            export_graph(dense(), folder, options=ExportOptions(layout=layout, unaligned=unaligned))
            text = Path(folder / file).read_text()
            assert ("-mno-unaligned-access" in text) == (not unaligned)
    export_graph(
        dense(), tmp_path / "host", core="host-avx2", options=ExportOptions(layout="zephyr")
    )
    assert "(-mavx2)" in (tmp_path / "host" / "zephyr" / "CMakeLists.txt").read_text()
