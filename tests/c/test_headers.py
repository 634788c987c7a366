"""Which headers are public, what they include, and the prefix of every name in a header."""

import re
import subprocess
from itertools import product

import pytest

from tests.c.conformance import all_float_ops, all_int4_ops, all_int16_ops, all_ops
from tests.c.host import BESIDE
from tests.sampling import sampled
from tinyrt import kernels_c
from tinyrt.export import ExportOptions, export_graph
from tinyrt.export.rows.segment import ROWS_HEADER
from tinyrt.export.target import find_core

FOLDERS = (kernels_c.INCLUDE, kernels_c.INTERNAL, kernels_c.ROOT / "isa")
HEADERS = sorted(path for folder in FOLDERS for path in folder.rglob("*.h"))
PUBLIC = {path.name for path in kernels_c.INCLUDE.glob("*.h")}
INTERNAL = {path.name for path in kernels_c.INTERNAL.glob("*.h")}
SOURCES = sorted(kernels_c.ROOT.glob("src*/*.c"))
WITHOUT_SOURCE = {"tinyrt_slices.h", "tinyrt_types.h", f"{ROWS_HEADER}.h"}
"""What a model's code includes beside the headers of the kernels that it calls."""

NO_NAMES = re.compile(r"/\*.*?\*/|__attribute__\(\(\w+\)\)|(?<=\\\n).*?[^\\]\n", re.DOTALL)
"""Comments, attributes, and what macros of several lines stand for."""
NAMES = [
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^#\s*define\s+(\w+)",
        # Types and enumerators; structs end in a line with their names.
        r"^\} (\w[\w, ]*);",
        r"^typedef [^{(]*?(\w+);",
        r"^typedef [^{(]*\(\*(\w+)\)\(",
        r"^typedef [^{(]*?(\w+)\([^*]",
        r"^    ([A-Z]\w*) =",
        # Functions: all else that begins a line and has a parenthesis.
        r"^(?!typedef|extern)(?=\w)[^;{}()=]*?\b(\w+)\(",
        r"^(?!typedef|extern)\w+ (\w[\w, ]*);",
    )
]


def names_in(text):
    """Macros, types, enumerators and functions that a header defines or declares."""
    code = NO_NAMES.sub("", text)
    found = [name for pattern in NAMES for name in pattern.findall(code)]
    return {word for names in found for word in names.split(", ")}


def reached(names):
    """Names of these headers and of all that they include, for whatever instruction set."""
    found, pending = set(), list(names)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            same = (path for path in HEADERS if path.name == name)
            pending += [other for path in same for other in kernels_c.includes(path)]
    return found


@pytest.mark.parametrize("isa", kernels_c.FALLBACKS)
def test_files_of_kernels_come_by_name_wherever_they_lie(isa):
    files = kernels_c.closure(["tinyrt_add_s8", "tinyrt_softmax_s8"], isa)
    assert files != sorted(files)
    assert [path.name for path in files] == sorted({path.name for path in files})


def test_names_are_found():
    text = """
#define one_macro(x) \\
    inside(x); \\
    also_inside(x)
typedef struct {
    int member;
} first, second;
typedef enum {
    ITEM = 0,
} kind;
typedef first other;
typedef void kernel(const first *p);
typedef void (*pointer)(const first *p);
kernel declared, too;
/** comment(x) */
static inline __attribute__((always_inline)) const int *defined(const int *x) {
    call(x);
}
void prototype(int x,
               int y);
"""
    assert names_in(text) == {
        *("one_macro", "first", "second", "ITEM", "kind", "other", "kernel", "pointer"),
        *("declared", "too", "defined", "prototype"),
    }


@pytest.mark.parametrize("folder", sorted({path.parent for path in HEADERS}), ids=lambda p: p.name)
def test_names_have_the_prefix(folder):
    names = {path.name: names_in(path.read_text()) for path in sorted(folder.glob("*.h"))}
    wrong = {
        file: [name for name in sorted(found) if not name.startswith(("tinyrt_", "TINYRT_"))]
        for file, found in names.items()
    }
    assert {file: found for file, found in wrong.items() if found} == {}


def test_functions_that_are_not_static_have_the_prefix():
    shared = re.compile(
        r"^(?!static|\w+ static|typedef|TINYRT_INLINE)(?=\w)[^;{}()=]*?\b(\w+)\(", re.M
    )
    found = {
        name for path in SOURCES for name in shared.findall(NO_NAMES.sub("", path.read_text()))
    }
    assert len(found) > 100
    assert [name for name in sorted(found) if not name.startswith(("tinyrt_", "TINYRT_"))] == []


def test_public_headers_need_no_internal_ones():
    assert not reached(PUBLIC) & INTERNAL


def test_public_headers_declare_a_kernel_or_are_needed_by_one_that_does():
    declaring = {kernels_c.own_header(path) for path in SOURCES} & PUBLIC
    assert reached(declaring | WITHOUT_SOURCE) >= PUBLIC


def test_no_name_is_in_both_folders():
    assert not PUBLIC & INTERNAL


@pytest.mark.device
@pytest.mark.parametrize("name", ["m0", "m4", "m55"])
def test_headers_of_all_kernels_go_together(tmp_path, name):
    """A model may have int8, int16 and float layers of one kind."""
    core = find_core(name)
    sources = {kernels_c.source(path.stem, core.isa.value) for path in SOURCES}
    headers = {kernels_c.own_header(path) for path in sources if path.is_file()}
    (tmp_path / "all.c").write_text("".join(f'#include "{h}"\n' for h in sorted(headers)))
    folders = [f"-I{folder}" for folder in kernels_c.header_folders(core.isa.value)]
    command = [core.compiler, *core.flags, "-Werror", "-fsyntax-only", *folders, "all.c"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


CASES = (all_ops, all_int16_ops, all_int4_ops, all_float_ops)
CORES = ("m0", "m4", "m55", "host-avx2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cases", "core"),
    sampled([*zip(CASES, CORES, strict=True)][::2], [*product(CASES, CORES)]),
)
def test_generated_code_includes_public_headers_alone(tmp_path, cases, core):
    graph, _ = cases(range(4))
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    source = project.directory / f"{project.name}.c"
    names = kernels_c.includes(source)
    used = {name.removeprefix("tinyrt/") for name in names if name.startswith("tinyrt/")}
    assert used
    assert used <= PUBLIC
