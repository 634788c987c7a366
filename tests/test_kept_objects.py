"""Objects that tests share are those that the compiler makes, and none where it makes others."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.graphs import small_cnn
from tests.kept_objects import Objects, harness_source, kernels_of, sources_of
from tests.kept_texts import NAME
from tests.object_names import renamed
from tinyrt import kernels_c
from tinyrt.emulate import toolchain
from tinyrt.emulate.image import FIRMWARE, bring_harness, bring_model
from tinyrt.export import export_graph

KERNEL = "tinyrt_softmax_f32"
needs_a_compiler = pytest.mark.skipif(
    not all(map(shutil.which, ("cc", "make"))), reason="no C compiler on this machine"
)


def exported(folder, seed=0):
    return export_graph(replace(small_cnn(seed), name="net"), folder, core="host").directory


def command(project, build, flags="-O1"):
    given = ("CC=cc", "AR=ar", f"CFLAGS={flags}", "TARGET_FLAGS=", f"BUILD={build}")
    return ["make", "-s", "-C", str(project), *given]


def keys(project, flags="-O1"):
    """Object -> its key."""
    return {place.name: key for key, place, _ in sources_of(command(project, "build", flags))}


def changed(project, name, old, new):
    """The keys after a change of one file."""
    (file,) = project.rglob(name)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    try:
        return keys(project)
    finally:
        file.write_text(text)


def test_which_core_a_makefile_names_is_of_no_matter(tmp_path):
    """Its flags are, where none take their place."""
    project = exported(tmp_path / "out", 0)
    before = keys(project)
    assert (
        changed(project, "Makefile", "CFLAGS ?=", "# for another core\nCFLAGS ?= -fwrapv") == before
    )
    assert changed(project, "Makefile", "$(CC)", "$(CC) -fwrapv") != before
    bare = [word for word in command(project, "build") if not word.startswith("CFLAGS")]
    own = [key for key, *_ in sources_of(bare)]
    file = project / "Makefile"
    file.write_text(file.read_text().replace("CFLAGS ?=", "CFLAGS ?= -fwrapv"))
    assert own
    assert [key for key, *_ in sources_of(bare)] != own


@needs_a_compiler
def test_objects_are_those_that_would_be_compiled(tmp_path):
    """Of a model of the same ops: all but its own code and weights are there already."""
    first, second = (exported(tmp_path / f"seed{seed}", seed) for seed in (0, 1))
    (tmp_path / "objects").mkdir()
    objects = Objects(tmp_path / "objects")

    def build(project, place, make):
        words = command(project, place)
        make(words, lambda: toolchain.run(words, doing="building"))
        return {file.name: file.read_bytes() for file in place.glob("*.o")}

    def seen(words, run):
        return run()

    build(first, tmp_path / "a", objects.make)
    before = len(list(objects.folder.iterdir()))
    with_kept = build(second, tmp_path / "b", objects.make)
    assert with_kept == build(second, tmp_path / "c", seen)
    assert f"{KERNEL}.o" in with_kept
    assert before == len(with_kept)
    assert len(list(objects.folder.iterdir())) <= before + 2
    # What it takes is what is kept, not what make would compile once more.
    kept = objects.folder / keys(second)[KERNEL]
    kept.write_bytes(kept.read_bytes().replace(b"@@@@@@@@", b"$$$$$$$$"))
    assert b"$$$$$$$$" in build(second, tmp_path / "d", objects.make)[f"{KERNEL}.o"]


@needs_a_compiler
@pytest.mark.whole
def test_objects_of_another_library_get_its_name(tmp_path):
    """They are what would be compiled, once tables of names are in one order."""
    (tmp_path / "objects").mkdir()
    objects = Objects(tmp_path / "objects")
    built = {}
    for name, seed in (("net", 0), ("a_longer_name", 1), ("n", 2)):
        project = export_graph(
            replace(small_cnn(seed), name=name), tmp_path / name, core="host"
        ).directory
        for place, make in (("kept", objects.make), ("compiled", lambda words, run: run())):
            words = command(project, project / place)
            make(words, lambda words=words: toolchain.run(words, doing="building"))
            built[name, place] = {
                file.name: as_copied(file) for file in project.glob(f"{place}/*.o")
            }
        assert built[name, "kept"] == built[name, "compiled"]
        assert f"{KERNEL}.o" in built[name, "kept"]
    kernels = [name for name in built["net", "kept"] if name.startswith("tinyrt_")]
    assert len(list(objects.folder.iterdir())) == len(kernels) + 2 * len(built) // 2


def as_copied(file):
    """An object, as binutils write it."""
    copy = file.with_suffix(".copy")
    subprocess.run(["objcopy", file, copy], check=True)
    return copy.read_bytes()


def library_of(project, place):
    """The command by which backend ``native`` builds a library."""
    place.mkdir()
    sources = sorted(project.rglob("*.c"))
    flags = ["-std=c99", "-O1", "-fPIC", "-shared", f"-I{project / 'tinyrt'}"]
    return ["cc", *flags, *sources, "-lm", "-o", place / "model.so"]


@needs_a_compiler
@pytest.mark.whole
def test_libraries_have_the_kernels_that_are_kept(tmp_path):
    """They are what would be built, and a kernel that another model has is not compiled again."""
    (tmp_path / "objects").mkdir()
    objects, ran = Objects(tmp_path / "objects"), []

    def run(words):
        ran.append(words)
        subprocess.run(words, check=True)

    def compiled():
        names = [word for words in ran for word in words if str(word).endswith(".c")]
        ran.clear()
        return {Path(name).stem for name in names}

    first, second = (exported(tmp_path / f"seed{seed}", seed) for seed in (0, 1))
    objects.link(library_of(first, tmp_path / "a"), run)
    everything = compiled()
    assert KERNEL in everything
    command = library_of(second, tmp_path / "b")
    objects.link(command, run)
    assert compiled() == {name for name in everything if not name.startswith("tinyrt_")}
    kept = (tmp_path / "b" / "model.so").read_bytes()
    subprocess.run(command, check=True)
    assert kept == (tmp_path / "b" / "model.so").read_bytes()
    # Other flags, another kernel, and flags by which objects depend on more.
    objects.link([word if word != "-O1" else "-O0" for word in command], run)
    assert compiled() == everything
    (kernel,) = second.rglob(f"{KERNEL}.c")
    kernel.write_text(kernel.read_text() + "\n")
    objects.link(command, run)
    assert KERNEL in compiled()
    assert kernels_of(["cc", str(kernel), "-o", "x"])
    for flag in ("-g", "-flto", "-include"):
        assert not kernels_of(["cc", flag, str(kernel), "-o", "x"])
    alone = ["cc", "-c", str(kernel), "-o", str(tmp_path / "x.o")]
    objects.link(alone, run)
    assert ran == [alone]


@needs_a_compiler
def test_what_is_no_object_or_has_the_name_in_its_data_is_not_renamed(tmp_path):
    assert renamed(b"text", b"e", b"i") is None
    (tmp_path / "x.c").write_text('const int net_x; const char *const text = "not_x";')
    subprocess.run(["cc", "-c", "x.c"], cwd=tmp_path, check=True)
    content = (tmp_path / "x.o").read_bytes()
    assert b"model_x\0" in renamed(content, b"net_", b"model_")
    assert renamed(content, b"not_", b"model_") is None


@needs_a_compiler
@pytest.mark.parametrize("data", [b"@" * 16, b"_" + b"@" * 8 + b"_"])
def test_data_like_the_place_of_an_identity_stay_as_they_are(tmp_path, data):
    project = exported(tmp_path / "net")
    (weights,) = project.rglob("net_weights.c")
    numbers = ", ".join(map(str, data))
    weights.write_text(f"{weights.read_text()}\nconst char net_data[] = {{{numbers}}};\n")
    (tmp_path / "objects").mkdir()
    objects, built = Objects(tmp_path / "objects"), []
    for place in ("a", "b"):
        words = command(project, tmp_path / place)
        objects.make(words, lambda words=words: toolchain.run(words, doing="building"))
        built.append((tmp_path / place / "net_weights.o").read_bytes())
    assert data in built[0]
    assert built[0] == built[1]


def test_a_key_is_of_all_that_an_object_depends_on(tmp_path):
    project = exported(tmp_path / "net")
    whole = keys(project)
    assert {KERNEL, "net", "net_weights"} <= whole.keys()
    assert len({*whole.values()}) == len(whole)

    def differing(others):
        return {name for name in whole if whole[name] != others[name]}

    assert differing(changed(project, f"{KERNEL}.c", "float", "float ")) == {KERNEL}
    assert KERNEL in differing(changed(project, "tinyrt_types.h", "#define", "# define"))
    assert differing(changed(project, "Makefile", "-ffunction-sections", "")) == {*whole}
    assert differing(keys(project, "-O2")) == {*whole}
    assert differing(changed(project, "net_weights.c", "0", "1")) == {"net_weights"}


def test_a_models_own_code_has_keys_of_its_library(tmp_path):
    """Its names stay, in whatever library it is."""
    project = exported(tmp_path / "net")
    found, rules = keys(project), project / "Makefile"
    rules.write_text(rules.read_text().replace("libnet.a", "libboth.a"))
    others = changed(project, "tinyrt_names.h", " net_", " both_")
    assert {name for name in found if found[name] != others[name]} == {"net", "net_weights"}


def test_a_key_is_of_headers_that_flags_name(tmp_path):
    project = exported(tmp_path / "net")
    header, beside = tmp_path / "first.h", tmp_path / "second.h"
    header.write_text('#include "second.h"\n')
    found = []
    for text in ("int a;\n", "int b;\n", "int a;\n"):
        beside.write_text(text)
        found.append(keys(project, f"-O1 -include {header}"))
    assert found[0] == found[2]
    assert {name for name in found[0] if found[0][name] != found[1][name]} == {*found[0]}


@needs_a_compiler
def test_names_of_kernels_matter_to_objects_that_have_them(tmp_path, monkeypatch):
    """With the library's name or without; what else a project has, or lacks, is nothing to them."""
    project = exported(tmp_path / "net")
    (names,) = project.rglob("tinyrt_names.h")
    lines = names.read_text().splitlines(keepends=True)
    (used,) = (line for line in lines if line.startswith(f"#define {KERNEL} "))
    assert NAME.match(used)
    without = "".join(line for line in lines if line is not used)
    (tmp_path / "objects").mkdir()
    objects, built, compiled = Objects(tmp_path / "objects"), [], []
    keep = objects._keep

    def noting(key, place, owner):
        compiled.append(place.relative_to(tmp_path).as_posix())
        keep(key, place, owner)

    monkeypatch.setattr(objects, "_keep", noting)
    for i, text in enumerate(("".join(lines), without, "".join(lines), without)):
        names.write_text(text)
        words = command(project, tmp_path / str(i))
        objects.make(words, lambda words=words: toolchain.run(words, doing="building"))
        built.append((tmp_path / str(i) / f"{KERNEL}.o").read_bytes())
    assert built[:2] == built[2:]
    assert built[0] != built[1]
    assert sorted(name for name in compiled if name[0] != "0") == ["1/net", f"1/{KERNEL}"]


def test_what_counts_ops_is_in_keys_of_the_models_own_code(tmp_path):
    """No kernel calls it, nor says what another flag has the compiler write beside objects."""
    project, hooks = exported(tmp_path / "net"), tmp_path / "harness_profile.h"
    hooks.write_text("#define TINYRT_PROFILE_BEGIN(op) begin(op)\n")
    whole = keys(project)
    for flags in (f"-O1 -include {hooks}", "-O1 -fcallgraph-info=su"):
        found = keys(project, flags)
        assert {name for name in whole if found[name] != whole[name]} == {"net", "net_weights"}
    calls = re.compile(r"^(?!\s*#).*TINYRT_PROFILE_", re.MULTILINE)
    assert not [p for p in kernels_c.ROOT.rglob("*.[ch]") if calls.search(p.read_text())]


@needs_a_compiler
@pytest.mark.whole
def test_who_calls_whom_is_written_where_it_is_asked_for(tmp_path):
    project, written = exported(tmp_path / "net"), []
    (tmp_path / "objects").mkdir()
    objects = Objects(tmp_path / "objects")
    for i, flags in enumerate(("", "-fcallgraph-info=su", "", "-fcallgraph-info=su")):
        words = command(project, tmp_path / str(i), f"-O1 {flags}")
        objects.make(words, lambda words=words: toolchain.run(words, doing="building"))
        written.append({file.name: file.read_bytes() for file in (tmp_path / str(i)).glob("*.ci")})
    assert f"{KERNEL}.ci" in written[1]
    assert written == 2 * [{}, written[1]]


def harness_key(project, folder, name, *flags):
    """The key of a source of the harness there."""
    words = ["cc", *flags, "-I.", "-iquote", str(project), "-c", name, "-o", "a.o"]
    found = harness_source(words, folder)
    return None if found is None else found[0]


def test_a_key_of_the_harness_is_of_all_that_it_includes(tmp_path):
    """Of the model only where it does: what starts a board is the same for all."""
    found = []
    for seed in range(2):
        project = export_graph(small_cnn(seed), tmp_path / str(seed), core="cortex-m4")
        folder = tmp_path / f"image{seed}"
        folder.mkdir()
        bring_harness(project, folder, (FIRMWARE, FIRMWARE / "arm"))
        bring_model(project, folder)
        names = ("harness_startup.c", "harness_main.c")
        found.append([harness_key(project.directory, folder, name, "-O1") for name in names])
        assert None not in found[-1]
    assert found[0][0] == found[1][0]
    assert harness_key(project.directory, folder, names[0], "-O2") not in found[1]
    assert harness_key(project.directory, folder, names[0], "-O1", "-g") is None
    for header in (project.directory / f"{project.name}.h", folder / "harness_model.h"):
        header.write_text(header.read_text() + "int more;\n")
        found.append([harness_key(project.directory, folder, name, "-O1") for name in names])
    assert len({startup for startup, _ in found}) == 1
    assert len({main for _, main in found[1:]}) == 3
    (folder / "harness_startup.o").write_text("")
    assert harness_key(project.directory, folder, names[0], "-O1") is None


@pytest.mark.parametrize("flags", ["-O1 -g", "-O1 -flto", "-O1 -I/usr/include", "--coverage"])
def test_what_depends_on_more_is_compiled(tmp_path, flags):
    project = exported(tmp_path / "net")
    assert keys(project)
    assert not keys(project, flags)


def test_what_is_built_already_is_made_as_it_is(tmp_path):
    project = exported(tmp_path / "net")
    (tmp_path / "build").mkdir()
    assert not sources_of(command(project, tmp_path / "build"))
    assert not sources_of(["make", "-C", str(tmp_path), "CC=cc", "BUILD=b", "TARGET_FLAGS="])
    assert not sources_of(["arm-none-eabi-gcc", "--version"])
