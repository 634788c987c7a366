"""What an exported folder holds, and that it builds and answers."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from tests.asked import asked
from tests.c.host import build_program, host_compiler, run_program
from tests.export.models import dense, views
from tests.graphs import Builder
from tests.listening import PIPELINE, int8_net, saved
from tests.memory.targets import DSP
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.export import export_c, export_graph
from tinyrt.ir import DType, Value
from tinyrt.memory import plan_memory
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.softmax import SoftmaxAttrs


def files(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_kernels_are_named_once_in_the_order_of_their_first_calls(tmp_path):
    b = Builder((1, 6))
    y = "x"
    for attrs in (SoftmaxAttrs(), None, SoftmaxAttrs(), None):
        y = b.op("abs" if attrs is None else "softmax", (y,), attrs)
    project = export_graph(b.graph(y), tmp_path)
    assert project.kernels == ("tinyrt_softmax_f32", "tinyrt_map_f32")


def test_folder_holds_the_model_and_only_its_kernels(tmp_path):
    export_graph(dense(), tmp_path / "out")
    assert files(tmp_path) == {
        "out/net.c",
        "out/net.h",
        "out/net_weights.c",
        "out/net_weights.h",
        "out/Makefile",
        "out/CMakeLists.txt",
        "out/LICENSE",
        "out/tinyrt-files.json",
        "out/tinyrt/tinyrt_dense_row_s8.c",
        "out/tinyrt/tinyrt_dense_row.h",
        "out/tinyrt/tinyrt_block.h",
        "out/tinyrt/tinyrt_block_loop.h",
        "out/tinyrt/tinyrt_block_runs.h",
        "out/tinyrt/tinyrt_block_s8.c",
        "out/tinyrt/tinyrt_block_s8.h",
        "out/tinyrt/tinyrt_columns.h",
        "out/tinyrt/tinyrt_names.h",
        "out/tinyrt/tinyrt_copy.h",
        "out/tinyrt/tinyrt_dot_loop.h",
        "out/tinyrt/tinyrt_dot_words.h",
        "out/tinyrt/tinyrt_flexible.h",
        "out/tinyrt/tinyrt_requant4.h",
        "out/tinyrt/tinyrt_halves.h",
        "out/tinyrt/tinyrt_simd.h",
        "out/tinyrt/tinyrt_simd_acle.h",
        "out/tinyrt/tinyrt_simd_asm.h",
        "out/tinyrt/tinyrt_simd_c.h",
        "out/tinyrt/tinyrt_tap_line.h",
        "out/tinyrt/tinyrt_types.h",
    }


@pytest.mark.parametrize(
    "option", [{"core": "cortex-m0"}, {"optimize": "size"}, {"max_arena": 1 << 20}]
)
def test_a_file_is_exported_as_its_graph_is(tmp_path, option):
    graph = dense()
    (tmp_path / "net.tflite").write_bytes(write_tflite(graph))
    of_file = export_c(tmp_path / "net.tflite", tmp_path / "file", **asked(**option))
    graph, digest = read_tflite(tmp_path / "net.tflite"), of_file.model_sha256
    of_graph = export_graph(graph, tmp_path / "graph", model_sha256=digest, **asked(**option))
    assert (of_file.core, of_file.optimize) == (of_graph.core, of_graph.optimize)
    for path in (p for p in of_graph.directory.rglob("*") if p.is_file()):
        other = of_file.directory / path.relative_to(of_graph.directory)
        assert other.read_bytes() == path.read_bytes(), path.name


def test_a_graph_with_a_front_end_is_exported_as_its_file_is(tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net(), PIPELINE)
    of_file = export_c(path, tmp_path / "file")
    given = {"model_sha256": of_file.model_sha256, "front_end": PIPELINE}
    of_graph = export_graph(read_tflite(path), tmp_path / "graph", **given)
    assert of_graph.identity == of_file.identity
    assert of_graph.audio == of_file.audio is not None


@pytest.mark.parametrize(
    ("optimize", "flag"), [("speed", "-O2 -DTINYRT_FAST"), ("balanced", "-O2"), ("size", "-Os")]
)
def test_what_the_code_is_made_for_is_an_option_of_the_compiler(tmp_path, optimize, flag):
    project = export_graph(dense(), tmp_path / "out", optimize=optimize)
    assert project.optimize.value == optimize
    assert f"CFLAGS ?= {flag}\n" in (tmp_path / "out" / "Makefile").read_text()
    cmake = (tmp_path / "out" / "CMakeLists.txt").read_text()
    level, *others = flag.split()
    assert f"PRIVATE {level})" in cmake
    assert ("PRIVATE TINYRT_FAST)" in cmake) == (others == ["-DTINYRT_FAST"])


def test_header_declares_the_plan(tmp_path):
    plan = plan_memory(dense(), DSP)
    project = export_graph(dense(), tmp_path / "out")
    assert project.arena_bytes == plan.arena_bytes
    header = (tmp_path / "out" / "net.h").read_text()
    for line in (
        f"#define NET_ARENA_BYTES {plan.arena_bytes}",
        f"#define NET_INPUT_0_OFFSET {plan.offsets['x']}",
        "#define NET_INPUT_0_BYTES 4",
        "#define NET_INPUT_0_SHAPE {1, 4}",
        "#define NET_INPUT_0_SCALE 0.5F",
        "#define NET_INPUT_0_ZERO_POINT 3",
        f"#define NET_OUTPUT_0_OFFSET {plan.offsets['y']}",
    ):
        assert f"{line}\n" in header


@pytest.mark.parametrize("mode", ["beside", "arena"])
def test_views_and_copies_answer_as_the_reference(tmp_path, mode):
    """Beside an input that nobody reads, of which compilers would warn."""
    x = np.arange(-6, 6, dtype=np.int8).reshape(1, 2, 6)
    graph, unread = views(), Value("unread", DType.FLOAT32, (1, 2))
    values = graph.values | {"unread": unread}
    graph = verify(replace(graph, inputs=("x", "unread"), values=values))
    project = export_graph(graph, tmp_path / "out")
    feeds = {"x": x, "unread": np.zeros((1, 2), np.float32)}
    found = run_program(build_program(project, tmp_path), project, feeds, mode)
    for name, expected in evaluate(views(), {"x": x}).items():
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.slow
def test_nothing_in_the_library_can_be_written(zoo, tmp_path):
    """No .data and no .bss in any object: no state, no start-up work."""
    export_c(zoo / "models" / "resnet8_int8.tflite", tmp_path / "out")
    make = ["make", "-s", "-C", tmp_path / "out", f"CC={host_compiler()}", "CFLAGS=-fno-pie"]
    subprocess.run(make, check=True, capture_output=True)
    library = tmp_path / "out" / "build" / "libresnet8_int8.a"
    listing = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    kinds = {line.split()[-2] for line in listing.splitlines() if len(line.split()) >= 2}
    assert kinds <= {"T", "t", "R", "r", "U"}


def test_header_is_cpp_too(tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")
    export_graph(dense(), tmp_path / "out")
    source = tmp_path / "main.cpp"
    source.write_text('#include "net.h"\nint main() { net_io_t io = {}; (void)io; }\n')
    options = ["-Wall", "-Wextra", "-Werror", f"-I{tmp_path / 'out'}", "-fsyntax-only"]
    subprocess.run([compiler, *options, source], check=True)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("Größe 2.1/final", "gr_e_2_1_final"),
        ("8bit", "model_8bit"),
        ("math", "model_math"),
        ("tinyrt_add", "model_tinyrt_add"),
        ("", "model"),
        ("a??/b", "a_b"),
    ],
)
def test_any_model_name_becomes_a_prefix(tmp_path, name, prefix):
    assert export_graph(dense(name), tmp_path / "out").name == prefix


def test_hostile_names_stay_inside_comments(tmp_path):
    graph = dense("evil */ int x; /*\n??/", node_name="*/ #error \\\n ??/")
    project = export_graph(graph, tmp_path / "out")
    build_program(project, tmp_path)


def test_a_state_that_stays_as_it_was_is_not_copied_onto_itself(tmp_path):
    b = Builder((1, 4), (1, 4))
    y = b.op("add", ("x", "x1"), AddAttrs())
    kept = b.op("reshape", ("x1",), ReshapeAttrs((1, 4)))
    graph = replace(b.graph(y, kept), states=(("x1", kept),))
    export_graph(graph, tmp_path / "out")
    code = (tmp_path / "out" / "net.c").read_text()
    assert "tinyrt_zip_f32(" in code
    assert "tinyrt_reshape(" not in code
