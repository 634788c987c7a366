"""What a library may have in it and call: each thing that it may not have is found."""

import subprocess
from itertools import product

import pytest

from tests.firmware.device import require_core
from tests.firmware.facts import problems_of_library
from tests.sampling import sampled
from tinyrt.export import find_core

GOOD = "int good(const int *x, int n) { int s = 0; while (n > 0) { s += x[--n]; } return s; }"
BAD = {
    "calls malloc": "#include <stdlib.h>\nvoid *bad(void) { return malloc(4); }",
    "calls printf": '#include <stdio.h>\nvoid bad(int x) { printf("%d", x); }',
    "state is a variable that is written": "int state = 3;",
    "last.0 is a variable that is written": "int bad(int x) { static int last; return last += x; }",
    "count is a variable that is written": "int count;",
    "float": "float bad(float x) { return x * 2.5F; }",
    "double": "double bad(int x) { return x * 2.5; }",
}
FLOATS = {"cortex-m0": ("__aeabi_fmul", "__aeabi_"), "cortex-m4": (".f32", "__aeabi_")}


def built(folder, core, text, name="tinyrt_add_s8"):
    core = find_core(core)
    (folder / f"{name}.c").write_text(text)
    for command in (
        [core.compiler, *core.flags, "-O1", "-c", f"{name}.c"],
        [core.archiver, "rcs", "libtest.a", f"{name}.o"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    return problems_of_library(folder / "libtest.a", core)


@pytest.mark.parametrize(
    ("what", "core"),
    sampled(
        [*product(BAD, ["cortex-m4"]), *product(("float", "double"), ["cortex-m0"])],
        [*product(BAD, FLOATS)],
    ),
)
def test_what_a_library_may_not_have_is_found(tmp_path, core, what):
    require_core(core)
    float_name, double_name = FLOATS[core]
    expected = {"float": float_name, "double": double_name}.get(what, what)
    problems = built(tmp_path, core, BAD[what])
    assert any(expected in problem for problem in problems), problems
    assert all(problem.startswith("tinyrt_add_s8.o: ") for problem in problems)


def test_other_code_is_as_it_should_be(tmp_path):
    require_core("cortex-m4")
    assert built(tmp_path, "cortex-m4", GOOD) == []


def test_kernels_of_floats_may_have_floats(tmp_path):
    require_core("cortex-m0")
    assert built(tmp_path, "cortex-m0", BAD["float"], "tinyrt_add_f32") == []
