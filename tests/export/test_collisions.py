"""Names that would hide, or be, something else: of models, folders, memories and sections."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

from tests.c.host import build_program, host_compiler, run_program
from tests.export.models import dense, views
from tests.graphs import Builder
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, Memories, export_c, export_graph, export_several, several
from tinyrt.export.names import identifier
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType
from tinyrt.memory import Region
from tinyrt.memory.regions import ARENA
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.evaluate import evaluate

X = np.array([[1, -2, 3, 4]], np.int8)


def saved(tmp_path, *names):
    paths = [tmp_path / f"{name}.tflite" for name in names]
    for path in paths:
        save_tflite(dense(path.stem), path)
    return paths


@pytest.mark.parametrize(
    "name",
    ["features", "stdint", "endian", "newlib", "emmintrin", "test", "m", "tinyrt_add", "harness"],
)
def test_a_model_is_not_called_like_what_compilers_and_builds_know(name):
    assert identifier(name) == f"model_{name}"


@pytest.mark.parametrize("name", ["net", "digits", "mobilenet_vww_int8", "kws", "batch", "machine"])
def test_ordinary_names_stay(name):
    assert identifier(name) == name


def test_a_program_beside_the_model_finds_the_systems_headers(tmp_path):
    project = export_graph(dense("features"), tmp_path / "out")
    main = tmp_path / "main.c"
    main.write_text(
        f'#include <stdio.h>\n#include "{project.name}.h"\nint main(void) {{return 0;}}'
    )
    command = [host_compiler(), f"-I{project.directory}", "-fsyntax-only", main]
    subprocess.run(command, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["batch", "machine"])
def test_the_hosts_own_files_are_beside_the_models(tmp_path, monkeypatch, name):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "cache"))
    graph = dense(name)
    (expected,) = evaluate(graph, {"x": X}).values()
    if name == "batch":
        interpreter = Interpreter.from_graph(graph, backend="native")
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
        interpreter.invoke()
        found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_array_equal(found, expected)
        return
    (path,) = saved(tmp_path, name)
    report = run_emulated(path, inputs={"x": X}, build_dir=tmp_path, core="host")
    np.testing.assert_array_equal(report.outputs["y"], expected)


@pytest.mark.parametrize(
    ("names", "folder", "shared"),
    [
        (("a", "a_weights"), "out", False),
        (("a_weights", "A"), "out", False),
        (("a", "b"), "a", True),
        (("a_arena", "b"), "a", True),
    ],
)
def test_models_whose_files_would_be_one_are_refused(tmp_path, names, folder, shared):
    paths = saved(tmp_path, *names)
    with pytest.raises(UnsupportedError, match="and so has another model of the project"):
        export_several(paths, tmp_path / folder, shared_arena=shared)
    assert not (tmp_path / folder).exists()


@pytest.mark.parametrize("shared", [False, True])
def test_every_macro_of_a_header_is_known(tmp_path, monkeypatch, shared):
    headers = {}
    monkeypatch.setattr(several, "add_files", lambda files, more, of: headers.update(more))
    export_several(saved(tmp_path, "a", "b"), tmp_path / "out", shared_arena=shared)
    headers = {name: file for name, file in headers.items() if name.endswith(".h")}
    assert len(headers) == 4 + shared
    for file in headers.values():
        assert file.macros == set(re.findall(r"^ *# *define +(\w+)", file.text, re.MULTILINE))
        assert file.macros


@pytest.mark.slow
def test_models_in_a_folder_of_their_name_are_fine_without_a_shared_arena(tmp_path):
    project = export_several(saved(tmp_path, "a", "b"), tmp_path / "a")
    make = ["make", "-s", "-C", project.directory, f"CC={host_compiler()}"]
    subprocess.run(make, check=True)


GOOD = ("sram", "DTCM", "a1_b", "fast")
BAD = (
    *("", "1a", "_a", "a-b", "a b", "ä", "a" * 33, "a\n", "a;", "*/"),
    *(
        "int",
        "class",
        "Register",
        "restrict",
        "NULL",
        "errno",
        "stdin",
        "linux",
        "true",
        "st_mtime",
    ),
    *("io", "State", "input_0", "OUTPUT_12", "input_0_row"),
)


@pytest.mark.parametrize("name", BAD)
def test_a_memory_region_has_a_name_that_c_can_have(name):
    with pytest.raises(UnsupportedError, match="region"):
        Memories((Region("sram", 64), Region(name)))


def test_memory_regions_have_names_of_their_own():
    for names in (("sram", "sram"), ("sram", "SRAM"), ("sram", ARENA)):
        with pytest.raises(UnsupportedError, match="memory regions"):
            Memories(tuple(map(Region, names)))
    Memories((Region(ARENA, 64),))


def test_good_regions_build(tmp_path):
    memories = Memories((*(Region(name, 16) for name in GOOD), Region("rest")))
    project = export_graph(views(), tmp_path / "out", options=ExportOptions(memories=memories))
    make = ["make", "-s", "-C", project.directory, f"CC={host_compiler()}"]
    subprocess.run(make, check=True)


@pytest.mark.parametrize("name", ["", "a" * 65, 'x")))', "a b", "ä", "٣", ".text\n", "a,b", "$(x)"])
def test_a_section_has_a_harmless_name(name):
    with pytest.raises(UnsupportedError, match="section"):
        Memories(weights_section=name)


def with_constants(*bits: int):
    """A constant with these bits, behind the input; and added to it, and to a usual one."""
    builder = Builder((4,))
    odd = builder.constant(np.array(bits, np.uint32).view(np.float32))
    joined = builder.op("concatenation", ("x", odd), ConcatenationAttrs(0))
    usual = builder.constant(np.arange(4, dtype=np.float32))
    total = builder.op("add", (builder.op("add", ("x", usual), AddAttrs()), odd), AddAttrs())
    return builder.graph(joined, total)


def test_constants_that_are_no_numbers_have_the_same_bits(tmp_path):
    graph = with_constants(0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000)
    feeds = {"x": np.array([1, 2, -3, 0], np.float32)}
    project = export_graph(graph, tmp_path / "out")
    found = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        assert found[name].dtype == DType.FLOAT32.numpy
        np.testing.assert_array_equal(found[name].view(np.uint32), expected.view(np.uint32))


def test_a_nan_that_has_no_name_in_c_is_refused(tmp_path):
    save_tflite(with_constants(0x7FC00001, 0, 0, 0), tmp_path / "net.tflite")
    with pytest.raises(UnsupportedError, match="bits 0x7fc00001") as caught:
        export_c(tmp_path / "net.tflite", tmp_path / "out")
    assert "const1" in str(caught.value)
    assert not (tmp_path / "out").exists()
