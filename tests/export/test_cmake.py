"""An exported folder in CMake: alone, in another project, and installed."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.c.host import require_tool
from tests.export.models import dense, views
from tests.graphs import Builder
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import ExportOptions, export_graph, export_several
from tinyrt.ops.softmax import SoftmaxAttrs

pytestmark = pytest.mark.slow

USER = """cmake_minimum_required(VERSION 3.13)
project(user C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
{how}
add_executable(user main.c)
target_link_libraries(user {names})
"""
MAIN = """#include "{name}.h"
#include "tinyrt/tinyrt_types.h"
int main(void) {{
    {name}_io_t io = {{0}};
    return {name}_invoke(&io, NULL) != TINYRT_NULL_ARENA;
}}
"""


@pytest.fixture(autouse=True)
def _cmake():
    require_tool("cmake")


def cmake(*arguments):
    command = ["cmake", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr


def commands(build: Path, part: str) -> list[list[str]]:
    """The compiler's arguments for each file below a folder of that name."""
    entries = json.loads((build / "compile_commands.json").read_text())
    found = [entry["command"].split() for entry in entries if f"/{part}/" in entry["file"]]
    assert found
    return found


def own_options(build: Path, part: str) -> set[str]:
    """Options of optimisation, warnings and macros, the same for all files."""
    options = {
        tuple(word for word in command if word.startswith(("-O", "-W", "-D", "-w")))
        for command in commands(build, part)
    }
    assert len(options) == 1
    return set(options.pop())


@pytest.mark.parametrize(
    ("optimize", "given", "expected"),
    [
        ("balanced", (), {"-O2"}),
        pytest.param("size", (), {"-Os"}, marks=pytest.mark.whole),
        ("speed", (), {"-O2", "-DTINYRT_FAST"}),
        ("speed", ("-DCMAKE_C_FLAGS=-O1 -Wall",), {"-O1", "-Wall", "-DTINYRT_FAST"}),
        pytest.param(*("balanced", ("-DCMAKE_BUILD_TYPE=Debug",), set()), marks=pytest.mark.whole),
        ("balanced", ("-DCMAKE_BUILD_TYPE=MinSizeRel",), {"-Os", "-DNDEBUG"}),
    ],
)
def test_alone_it_has_an_optimisation_unless_one_is_given(tmp_path, optimize, given, expected):
    export_graph(dense(), tmp_path / "out", core="host", optimize=optimize)
    build = tmp_path / "build"
    cmake("-S", tmp_path / "out", "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *given)
    assert own_options(build, "out") == expected


@pytest.mark.parametrize("optimize", sampled(["speed"], ["speed", "size"]))
def test_in_another_project_it_adds_what_it_needs_alone(tmp_path, optimize):
    """Two of them; neither is installed with the project, unless that asks for it."""
    for graph in (dense(), views()):
        export_graph(graph, tmp_path / graph.name, core="host", optimize=optimize)
    how = "add_subdirectory(net)\nadd_subdirectory(views)"
    (tmp_path / "CMakeLists.txt").write_text(USER.format(how=how, names="net::net views::views"))
    (tmp_path / "main.c").write_text(MAIN.format(name="views"))
    build = tmp_path / "build"
    cmake("-S", tmp_path, "-B", build, "-DCMAKE_C_FLAGS=-O1 -Wextra -Werror")
    needed = {"-DTINYRT_FAST"} if optimize == "speed" else set()
    for name in ("net", "views"):
        assert own_options(build, name) == {"-O1", "-Wextra", "-Werror"} | needed
    cmake("--build", build)
    subprocess.run([build / "user"], check=True)
    cmake("--install", build, "--prefix", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    cmake("-S", tmp_path, "-B", build, "-DNET_INSTALL=ON")
    cmake("--build", build)
    cmake("--install", build, "--prefix", tmp_path / "one")
    assert {p.name for p in (tmp_path / "one" / "include").iterdir()} == {"net"}


def test_what_is_installed_is_found_by_its_name(tmp_path):
    """With the mathematical library, which a float softmax needs."""
    builder = Builder((1, 4))
    graph = builder.graph(builder.op("softmax", ("x",), SoftmaxAttrs()))
    project = export_graph(graph, tmp_path / "out", core="host", options=ExportOptions(name="soft"))
    cmake("-S", project.directory, "-B", tmp_path / "build")
    cmake("--build", tmp_path / "build")
    place = tmp_path / "place"
    cmake("--install", tmp_path / "build", "--prefix", place)
    headers = {str(p.relative_to(place / "include")) for p in place.rglob("*.h")}
    assert headers == {f"soft/{n}" for n in ("soft.h", "tinyrt/tinyrt_types.h", NAMES)}
    assert (place / "share" / "doc" / "soft" / "LICENSE").is_file()
    how = "find_package(soft REQUIRED)"
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(USER.format(how=how, names="soft::soft"))
    (user / "main.c").write_text(MAIN.format(name="soft"))
    cmake("-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={place}")
    cmake("--build", user / "build")
    subprocess.run([user / "build" / "user"], check=True)


NAMES = "tinyrt/tinyrt_names.h"


@pytest.mark.whole
def test_several_models_are_installed_with_their_arena(tmp_path):
    paths = [tmp_path / f"{graph.name}.tflite" for graph in (dense(), views())]
    for graph, path in zip((dense(), views()), paths, strict=True):
        save_tflite(graph, path)
    export_several(paths, tmp_path / "both", core="host", shared_arena=True)
    cmake("-S", tmp_path / "both", "-B", tmp_path / "build")
    cmake("--build", tmp_path / "build")
    cmake("--install", tmp_path / "build", "--prefix", tmp_path / "place")
    headers = {p.name for p in (tmp_path / "place" / "include" / "both").glob("*.h")}
    assert headers == {"net.h", "views.h", "both_arena.h"}
