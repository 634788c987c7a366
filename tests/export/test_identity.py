"""No symbol of an export is another's: they are one program, exact, or do not link."""

import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from tests.c.host import build_program, host_compiler, run_program
from tests.export.models import dense, echo, views
from tests.firmware.device import require_core
from tests.memory.nets import random_net
from tinyrt import kernels_c
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, export_c, export_graph, export_several, find_core
from tinyrt.export.identity import IDENTITY, sealed
from tinyrt.export.model import library_files
from tinyrt.export.names import Naming, identifier
from tinyrt.ops.shared.evaluate import evaluate

X = np.array([[1, -2, 3, 4]], np.int8)


def library(folder, core="host"):
    """The static library of a project, built by its own Makefile."""
    target = find_core(core)
    cc = target.compiler if target.prefix else host_compiler()
    flags = f"TARGET_FLAGS={' '.join(target.flags)}"
    make = ["make", "-s", "-C", folder, f"CC={cc}", f"AR={target.archiver}", flags]
    make += ["CFLAGS=-O0", "WARNINGS=-w"]  # for some cores, not all kernels are chosen
    subprocess.run(make, check=True, capture_output=True)
    (path,) = (folder / "build").glob("lib*.a")
    return path


def symbols(path, core="host"):
    """What a library defines for others."""
    command = [f"{find_core(core).prefix}nm", "-g", "--defined-only", path]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {words[2] for words in map(str.split, listing.splitlines()) if len(words) == 3}


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (dense(), {}),
        pytest.param(views(), {"prefix": "acme"}, marks=pytest.mark.whole),
        (echo(), {"name": "other"}),
        (random_net(28), {"input_rows": True}),
        pytest.param(random_net(45), {"max_arena": 500, "prefix": "p_"}, marks=pytest.mark.whole),
    ],
)
def test_every_symbol_begins_with_the_name_and_holds_the_identity(tmp_path, graph, options):
    project = export_graph(graph, tmp_path / "out", core="host", options=ExportOptions(**options))
    assert re.fullmatch(r"[0-9a-f]{8}", project.identity)
    start = f"{project.name}_{project.identity}_"
    found = symbols(library(project.directory))
    assert found
    assert [name for name in found if not name.startswith(start)] == []
    pushed, stateful = project.pushed is not None, project.state_bytes > 0
    called = {"begin", "push_row"} if pushed else {"invoke"}
    called |= {"reset"} if stateful else set()
    rest = {name.removeprefix(start) for name in found}
    assert {n for n in rest if not re.match(r"tinyrt_|(n|rows)\d+_", n)} == called


@pytest.mark.whole
@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize(
    "core",
    ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"],
)
def test_so_it_is_with_every_kernel_of_every_core(tmp_path, core):
    """With all kernels that there are in one folder: also those that only others call."""
    require_core(core)
    target = find_core(core)
    sources = {path.stem for path in kernels_c.ROOT.glob("src*/*.c")}
    names = [n for n in sorted(sources) if kernels_c.source(n, target.isa.value).is_file()]
    project = export_graph(dense(), tmp_path / "out", core=core)
    files = library_files("net", ["net"], names, target, project.optimize)
    for name, text in files.items():
        path = project.directory / name
        path.write_text(text.replace(IDENTITY, project.identity))
    found = symbols(library(project.directory, core), core)
    start = f"net_{project.identity}_"
    assert len(found) > 150
    assert [name for name in found if not name.startswith(start)] == []


@pytest.mark.slow
def test_symbols_of_several_models_begin_with_theirs_or_the_librarys_name(tmp_path):
    paths = saved(tmp_path, dense(), views())
    bundle = export_several(
        paths, tmp_path / "both", core="host", options=ExportOptions(prefix="acme")
    )
    assert [model.name for model in bundle.models] == ["acme_net", "acme_views"]
    assert bundle.name == "acme_both"
    starts = tuple(
        f"{name}_{bundle.identity}_{rest}"
        for name, rest in (("acme_net", ""), ("acme_views", ""), ("acme_both", "tinyrt_"))
    )
    found = symbols(library(bundle.directory))
    assert [name for name in found if not name.startswith(starts)] == []
    assert {model.identity for model in bundle.models} == {bundle.identity}


def saved(folder, *graphs):
    paths = [folder / f"{graph.name}.tflite" for graph in graphs]
    for graph, path in zip(graphs, paths, strict=True):
        save_tflite(graph, path)
    return paths


def test_the_identity_is_that_of_all_files(tmp_path):
    one = export_graph(dense(), tmp_path / "one")
    assert export_graph(dense(), tmp_path / "again").identity == one.identity
    others = [
        export_graph(dense(), tmp_path / "core", core="cortex-m7"),
        export_graph(dense(), tmp_path / "size", optimize="size"),
        export_graph(dense(bias=8), tmp_path / "weights"),
        export_graph(dense(), tmp_path / "name", options=ExportOptions(name="other")),
        export_graph(replace(dense(), name="Net"), tmp_path / "title"),
    ]
    assert len({one.identity, *(other.identity for other in others)}) == 1 + len(others)


def test_a_change_of_any_file_or_its_name_changes_the_identity():
    files = {"a": f"x {IDENTITY} y", "b": "z"}
    identity, texts = sealed(files)
    assert texts == {"a": f"x {identity} y", "b": "z"}
    assert sealed(dict(reversed(files.items())))[0] == identity
    changed = [{**files, "b": "zz"}, {"a": files["a"], "c": "z"}, {"a": files["a"] + "b", "z": ""}]
    assert len({identity, *(sealed(other)[0] for other in changed)}) == 4


MAIN = """
#include "net.h"
static unsigned char memory[NET_ARENA_BYTES + NET_ARENA_ALIGNMENT];
int main(void) {
    unsigned char *arena = memory;
    while ((unsigned long)arena % NET_ARENA_ALIGNMENT != 0) {
        ++arena;
    }
    return net_invoke(&(net_io_t){0}, arena);
}
"""


@pytest.mark.parametrize(("size", "links"), [(4, True), (8, False)])
def test_a_header_and_the_library_of_another_export_do_not_link(tmp_path, size, links):
    export_graph(dense(), tmp_path / "one", core="host")
    export_graph(dense(size=size), tmp_path / "other", core="host")
    (tmp_path / "main.c").write_text(MAIN)
    command = [host_compiler(), f"-I{tmp_path / 'one'}", tmp_path / "main.c"]
    command += [library(tmp_path / "other"), "-o", tmp_path / "program"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == links
    if links:
        subprocess.run([tmp_path / "program"], check=True)
    else:
        assert re.search(r"undefined reference to .net_[0-9a-f]{8}_invoke", done.stderr)


@pytest.mark.parametrize(
    ("header", "error"),
    [
        ("net.h", "two exports are called net: give one of them another name"),
        ("both_arena.h", "two folders are called both: export one of them with --prefix"),
    ],
)
def test_two_headers_of_one_name_are_an_error_unless_they_are_the_same(tmp_path, header, error):
    for folder, graph in (("one", dense()), ("same", dense()), ("other", dense(bias=8))):
        (tmp_path / folder).mkdir()
        export_several(
            saved(tmp_path / folder, graph), tmp_path / folder / "both", shared_arena=True
        )
    for second, wrong in (("same", False), ("other", True)):
        source = tmp_path / f"{second}.c"
        includes = [tmp_path / folder / "both" / header for folder in ("one", second)]
        source.write_text("".join(f'#include "{path}"\n' for path in includes))
        command = [host_compiler(), "-fsyntax-only", source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode != 0, error in done.stderr) == (wrong, wrong)


@pytest.mark.parametrize("input_rows", [False, True])
def test_sources_need_no_include_path(tmp_path, input_rows):
    """As build systems compile them that take every source of a folder, one by one."""
    graph = random_net(28) if input_rows else dense()
    export_graph(graph, tmp_path / "out", core="host", options=ExportOptions(input_rows=input_rows))
    sources = sorted(p.resolve() for p in (tmp_path / "out").rglob("*.c"))
    command = [host_compiler(), "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", *sources]
    (tmp_path / "elsewhere").mkdir()
    subprocess.run(command, cwd=tmp_path / "elsewhere", check=True)


# Names


@pytest.mark.whole
def test_two_versions_of_a_model_run_side_by_side(tmp_path):
    """Both folders' sources as one program's, with either folder first on the include path."""
    graphs = {"old": dense(), "new": dense(bias=20)}
    for name, graph in graphs.items():
        export_graph(graph, tmp_path / name, core="host", options=ExportOptions(name=f"net_{name}"))
    (tmp_path / "main.c").write_text(BOTH)
    sources = [tmp_path / "main.c", *tmp_path.glob("*/*.c"), *tmp_path.glob("*/tinyrt/*.c")]
    for order in (("old", "new"), ("new", "old")):
        folders = [f"-I{tmp_path / name}" for name in order]
        folders += [f"-I{tmp_path / name / 'tinyrt'}" for name in order]
        command = [host_compiler(), "-std=c99", "-Wall", "-Werror", *folders, *sources]
        subprocess.run([*command, "-o", tmp_path / "program"], check=True)
        done = subprocess.run([tmp_path / "program"], check=True, capture_output=True).stdout
        found = np.frombuffer(done, np.int8).reshape(2, 2)
        expected = [evaluate(graph, {"x": X})["y"][0] for graph in graphs.values()]
        np.testing.assert_array_equal(found, expected)


BOTH = """
#include <stdio.h>
#include "net_new.h"
#include "net_old.h"
static long long memory[256];
int main(void) {
    char *arena = (char *)memory;
    while ((unsigned long)arena % NET_OLD_ARENA_ALIGNMENT != 0) {
        ++arena;
    }
    const int8_t x[4] = {1, -2, 3, 4};
    int8_t y[4];
    const net_old_io_t old_io = {x, y};
    const net_new_io_t new_io = {x, y + 2};
    const int status = net_old_invoke(&old_io, arena) + net_new_invoke(&new_io, arena);
    fwrite(y, 1, sizeof y, stdout);
    return status;
}
"""


@pytest.mark.parametrize(
    ("own", "name", "prefix", "expected"),
    [
        ("My Net", None, None, "my_net"),
        ("My Net", "kws", None, "kws"),
        ("My Net", None, "acme", "acme_my_net"),
        ("My Net", None, "acme_", "acme_my_net"),
        ("My Net", "kws", "acme_2", "acme_2_kws"),
        ("8bit", None, "acme", "acme_model_8bit"),
        ("x" * 120, None, "acme", None),
    ],
)
def test_a_model_is_called_as_is_asked_for(tmp_path, own, name, prefix, expected):
    found = Naming(name, prefix).model(own)
    assert found == expected or expected is None
    assert identifier(found) == found
    assert found.startswith(prefix or "")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Net", "net"),
        ("my net", "my_net"),
        ("a__b", "a_b"),
        ("_a", "a"),
        ("1a", "model_1a"),
        ("math", "model_math"),
        ("tinyrt_net", "model_tinyrt_net"),
        ("", "model"),
        ("ä", "model"),
    ],
)
def test_a_name_that_would_not_do_is_refused_with_one_that_would(tmp_path, name, hint):
    with pytest.raises(UnsupportedError, match=f"a model cannot be called '{name}'") as caught:
        export_graph(dense(), tmp_path / "out", options=ExportOptions(name=name))
    assert caught.value.hint == f"'{hint}' would do"
    assert not (tmp_path / "out").exists()
    export_graph(dense(), tmp_path / "out", options=ExportOptions(name=hint))


@pytest.mark.parametrize(
    "prefix", ["", "_", "A", "1a", "a-b", "a__b", "a__", "tinyrt", "harness_a", "a" * 41, "a\n"]
)
def test_a_prefix_that_would_not_do_is_refused(prefix):
    with pytest.raises(UnsupportedError, match="cannot be the prefix of a name"):
        Naming(prefix=prefix)


def test_a_prefix_that_makes_a_name_of_the_compilers_is_refused():
    assert Naming(prefix="a" * 40).model("net") == f"{'a' * 40}_net"
    with pytest.raises(UnsupportedError, match="is a name that compilers or build tools know"):
        Naming(prefix="arm").model("acle")


def test_several_models_have_no_name_in_common(tmp_path):
    paths = saved(tmp_path, dense(), views())
    with pytest.raises(UnsupportedError, match="2 models cannot all be called 'kws'"):
        export_several(paths, tmp_path / "out", options=ExportOptions(name="kws"))
    found = export_several(
        paths[:1], tmp_path / "out", shared_arena=True, options=ExportOptions(name="kws")
    )
    assert [model.name for model in found.models] == ["kws"]


def test_another_name_in_a_used_folder_leaves_no_file_of_the_old_one(tmp_path):
    (path,) = saved(tmp_path, views())
    export_c(path, tmp_path / "out", core="cortex-m55", options=ExportOptions(name="old"))
    (tmp_path / "out" / "mine.c").write_text("int mine;")
    project = export_graph(
        dense(), tmp_path / "out", core="host", options=ExportOptions(name="new")
    )
    fresh = export_graph(
        dense(), tmp_path / "fresh", core="host", options=ExportOptions(name="new")
    )
    files = [
        {str(p.relative_to(f)): p.read_bytes() for p in f.rglob("*") if p.is_file()}
        for f in (tmp_path / "out", tmp_path / "fresh")
    ]
    assert files[0] == files[1] | {"mine.c": b"int mine;"}
    assert project.identity == fresh.identity
    found = run_program(build_program(project, tmp_path), project, {"x": X}, "arena")
    np.testing.assert_array_equal(found["y"], evaluate(dense(), {"x": X})["y"])
