"""The tool that puts faults in: what its operators change, and what it says of tests."""

from dataclasses import replace
from itertools import accumulate
from types import SimpleNamespace

import pytest

from tools.covered import Record
from tools.mutants import c_faults, copies, equivalents, python_faults
from tools.mutants.__main__ import (
    Verdict,
    changed_since,
    chosen,
    every_place,
    needs_record,
    survivors,
    table,
)
from tools.mutants.c_builds import is_another_program
from tools.mutants.faults import Place, changed_lines
from tools.mutants.reach import READ_SOURCES, Reach

PYTHON = {
    "core/ReplaceComparisonOperator_Lt_LtE": ("y = x < 1\n", "y = x <= 1\n"),
    "core/NumberReplacer": ("y = 1\n", "y = 2\n"),
}
C = {
    "plus": ("    y = a + b;\n", "    y = a - b;\n"),
    "less": ("    for (; i < n; ++i) {\n", "    for (; i <= n; ++i) {\n"),
    "shift right": ("    y = a >> 3;\n", "    y = a << 3;\n"),
    "number up": ("    y = x[2];\n", "    y = x[(2 + 1)];\n"),
    "condition never": ("    if (a == b) {\n", "    if (0 && a == b) {\n"),
    "condition always": ("    if (a == b) {\n", "    if (1 || a == b) {\n"),
    "choice": ("    y = a ? b : c;\n", "    y = a && 0 ? b : c;\n"),
    "statement": ("    x += 4;\n", ";\n"),
}
MEANS_NOTHING = (
    "def f(x: int | None) -> int:\n    return x\n",
    '"""Text with 1 < 2."""\n',
    "# x < 1\n",
)
NO_CODE = (
    "/* a + b, 3 < 4 */\n",
    "#define N (a + 3)\n",
    '    __asm__("add r0, r1, 4");\n',
    "// 3 < 4\n",
)


def write(folder, name, text):
    (folder / name).write_text(text)
    return name


def faults_of(module, folder, name):
    text = (folder / name).read_text()
    return {(p.operator, module.changed(text, p)) for p in module.places(folder, name)}


@pytest.mark.parametrize(("operator", "example"), PYTHON.items())
def test_operators_on_python(tmp_path, operator, example):
    before, after = example
    name = write(tmp_path, "module.py", before)
    assert (operator, after) in faults_of(python_faults, tmp_path, name)


@pytest.mark.parametrize(("operator", "example"), C.items())
def test_operators_on_c(tmp_path, operator, example):
    before, after = example
    name = write(tmp_path, "kernel.c", before)
    assert (operator, after) in faults_of(c_faults, tmp_path, name)


@pytest.mark.parametrize("text", MEANS_NOTHING)
def test_what_changes_nothing_is_no_fault(tmp_path, text):
    name = write(tmp_path, "module.py", text)
    assert {after for _, after in faults_of(python_faults, tmp_path, name)} <= {None}


def test_a_check_of_loops_over_pairs_is_no_fault(tmp_path):
    name = write(tmp_path, "module.py", "zip(a, b, strict=True)\nsorted(a, key=b)\n")
    found = {after for kind, after in faults_of(python_faults, tmp_path, name) if "Key" in kind}
    assert found == {None, "zip(a, b, strict=True)\nsorted(a)\n"}


@pytest.mark.parametrize("text", NO_CODE)
def test_only_code_is_changed(tmp_path, text):
    assert not c_faults.places(tmp_path, write(tmp_path, "kernel.c", text))


SUM = "tinyrt/kernels_c/src/tinyrt_sum_s8.c"


@pytest.mark.parametrize(
    ("change", "is_another"),
    [
        pytest.param((">> 1;", ">> 1; "), False, marks=pytest.mark.whole),
        ((">> 1;", ">> 2;"), True),
        ((">> 1;", ">> ;"), False),
    ],
)
def test_faults_in_c_make_another_program(change, is_another):
    """The same, another, or none."""
    source = (copies.ROOT / SUM).read_text()
    assert change[0] in source
    assert is_another_program(SUM, source.replace(*change)) == is_another


def test_a_place_has_its_line(tmp_path):
    name = write(tmp_path, "kernel.c", "\n\nint f(int a) {\n    return a + 1;\n}\n")
    assert {p.line for p in c_faults.places(tmp_path, name)} == {4}


@pytest.mark.slow
@pytest.mark.whole
def test_packages_get_as_many_faults_each():
    places = list(every_place(["tinyrt/report", "tinyrt/cli"]))
    faults = chosen(places, "", 6, seed=3)
    assert (
        sorted(place.package for place, _ in faults) == ["tinyrt/cli"] * 3 + ["tinyrt/report"] * 3
    )
    assert faults == chosen(places, "", 6, seed=3)
    assert faults != chosen(places, "", 6, seed=4)


def test_places_of_lines_that_changed(monkeypatch):
    shown = """\
diff --git a/tinyrt/text.py b/tinyrt/text.py
--- a/tinyrt/text.py
+++ b/tinyrt/text.py
@@ -3 +4,2 @@ def f() -> None:
+new
+new
@@ -9,2 +9,0 @@ def g() -> None:
-gone
diff --git a/tinyrt/old.py b/tinyrt/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/tinyrt/files.py b/tinyrt/files.py
+++ b/tinyrt/files.py
@@ -7 +7 @@
-other
+new
"""
    run = SimpleNamespace(stdout=shown)
    monkeypatch.setattr("subprocess.run", lambda command, **_: run if "HEAD~2" in command else None)
    lines = [("text", n) for n in (3, 4, 5, 6, 9)] + [("files", 4), ("files", 7), ("old", 1)]
    places = [Place(f"tinyrt/{name}.py", "Remove", 0, line) for name, line in lines]
    found = [(p.path, p.line) for p in changed_since("HEAD~2", places)]
    assert found == [("tinyrt/text.py", 4), ("tinyrt/text.py", 5), ("tinyrt/files.py", 7)]


def test_changed_lines():
    assert changed_lines("a\n  b\nc\n", "a\n  d\nc\n") == ("b", "d")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A module with a test that sees its answer for 2, and nothing else."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts in half the time
    write(tmp_path, "module.py", "def twice(x):\n    return x + x if x < 9 else 0\n")
    write(
        tmp_path,
        "test_module.py",
        "import module\n\n\ndef test_it():\n    assert module.twice(2) == 4\n",
    )
    return copies.Copy(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "by"),
    [
        ("def twice(x):\n    return x - x if x < 9 else 0\n", "test_module.py::test_it"),
        pytest.param(
            "def twice(x):\n    return x + x if x < 8 else 0\n", "", marks=pytest.mark.whole
        ),
        pytest.param(
            "def twice(x):\n    while True:\n        pass\n", "time", marks=pytest.mark.whole
        ),
    ],
)
def test_a_fault_is_noticed_where_a_test_fails_or_never_ends(tree, fault, by):
    with tree.changed("module.py", fault):
        outcome = tree.run(["test_module.py"], limit_s=20 if by != "time" else 2)
    assert outcome == copies.Outcome(bool(by), by)
    assert "x + x" in (tree.folder / "module.py").read_text()
    assert not tree.run(["test_module.py"], limit_s=20).noticed


@pytest.mark.slow
@pytest.mark.whole
def test_tests_that_fail_anyway_are_left_out(tree):
    write(tree.folder, "test_other.py", "def test_it():\n    raise OSError\n")
    tests = ["test_other.py", "test_module.py::test_it"]
    assert tree.run(tests, 20) == copies.Outcome(True, "test_other.py::test_it")
    assert tree.run(tests, 20, but=["test_other.py::test_it"]) == copies.Outcome(False)
    assert tree.run(tests, 20, but=tests) == copies.Outcome(False)


TIMES = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one" time="0.3"/>
<testcase classname="tests.test_a" name="test_many[0]" time="0.1"/>
<testcase classname="tests.test_a" name="test_many[1]" time="0.2"/>
<testcase classname="tests.test_b" name="test_table" time="0.05"/>
</testsuite></testsuites>
"""


CHANGED = "tests/test_new.py\ntests/test_gone.py\ntests/ir/test_verifier.py\n"
"""One at the top, one that is no more, one of another room."""

MODULE = """import a

def twice(x):
    y = x + x
    return loop(y)

LATER = 3
"""
LOOPS = """def loop(x):
    return x

def lonely(x):
    return x
"""


@pytest.fixture
def reach(tmp_path, monkeypatch):
    """A record of three tests: all reach the module's line 4, one's fixture line 5; others ran on
    import. Of loops, which the module uses, nothing is recorded.

    The module then lacked its first line; of the tests one was written since.
    """
    from coverage import CoverageData

    data = CoverageData(str(tmp_path / ".coverage"))
    said = {"diff": CHANGED, "grep": "tests/test_b.py\n"}
    then = {"abc:tinyrt/made.py": MODULE.partition("\n")[2]}

    def git(command, *arguments):
        return then.get(arguments[0], "") if command == "show" else said[command]

    monkeypatch.setattr("tools.mutants.reach._git", git)
    there = ["a.py::test_many[0]", "a.py::test_many[1]", "a.py::test_one", "b.py::test_table"]
    there = [f"tests/test_{name}" for name in there]
    monkeypatch.setattr("tools.mutants.reach._collect", lambda: there)
    for module in ("reach", "users"):
        monkeypatch.setattr(f"tools.mutants.{module}.ROOT", tmp_path)
    for folder in ("tinyrt", "tests/ir"):
        (tmp_path / folder).mkdir(parents=True)
    write(tmp_path, "tinyrt/made.py", f"from tinyrt.made_loops import loop\n{MODULE[9:]}")
    write(tmp_path, "tinyrt/made_loops.py", LOOPS)
    write(tmp_path, "tests/test_new.py", "def test_it():\n    pass\n")
    write(tmp_path, "tests/ir/test_verifier.py", "")
    contexts = {
        "": {1, 2, 6},
        "tests/test_a.py::test_one|run": {1, 3},
        "tests/test_a.py::test_one (setup)": {4},
        "tests/test_a.py::test_many[0]|setup": {3},
        "tests/test_a.py::test_many[1] (call)": {3},
    }
    for context, lines in contexts.items():
        data.set_context(context)
        data.add_lines({"/somewhere/tinyrt/made.py": lines})
    data.write()
    write(tmp_path, "times.xml", TIMES)
    write(tmp_path, "commit", "abc")
    write(tmp_path, "coveragerc", "")
    return Reach(Record(tmp_path))


ALL = ["a.py::test_many[0]", "a.py::test_one", "a.py::test_many[1]"]


@pytest.mark.parametrize(
    ("module", "line", "tests"),
    [
        ("made", 3, ["b.py::test_table", *ALL]),
        ("made", 4, ALL),
        ("made", 5, ["a.py::test_one"]),
        ("made", 7, ["b.py::test_table", *ALL]),
        ("made_loops", 2, ["a.py::test_one"]),
        ("made_loops", 5, []),
    ],
)
def test_tests_that_reach_a_line_the_quick_ones_first(reach, module, line, tests):
    """Those that ran it; a line outside of functions, or of one that is not recorded, by its
    users and by files that import the module. A fixture's line may be of later tests, too."""
    recorded = [f"tests/test_{name}" for name in tests]
    assert reach.record.exists
    found = reach.tests_of(Place(f"tinyrt/{module}.py", "", 0, line))
    assert {*READ_SOURCES} < {*found}
    assert [test for test in found if test not in READ_SOURCES] == [
        *recorded,
        "tests/test_new.py::test_it",
        *(f"tests/test_a.py::test_many[{i}]" for i in (0, 1) if (module, line) == ("made", 5)),
    ]


def test_new_tests_that_name_what_is_changed_come_first(reach):
    """Those of other folders are not asked; parameters of a test are one."""
    write(reach.record.folder, "tests/test_new.py", "def test_it():\n    twice(1)\n")
    write(reach.record.folder, "tests/ir/test_verifier.py", "def test_that():\n    twice(2)\n")
    place = Place("tinyrt/made.py", "", 0, 4)
    new = "tests/test_new.py::test_it"
    assert reach.tests_of(place)[:2] == [new, "tests/test_a.py::test_many[0]"]
    other = Place("tinyrt/made_loops.py", "", 0, 2)
    assert new in reach.tests_of(other)
    assert not any("test_verifier" in test for test in reach.tests_of(other))


def test_a_case_that_has_another_name_by_now_is_not_asked(reach, monkeypatch):
    there = ["tests/test_a.py::test_many[0]", "tests/test_a.py::test_many[2]"]
    monkeypatch.setattr("tools.mutants.reach._collect", lambda: there)
    tests = reach.tests_of(Place("tinyrt/made.py", "", 0, 4))
    assert [test for test in tests if "test_a.py" in test] == there[:1]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("src_mve/tinyrt_add_s8.c", "mve"),
        ("src_rvv/tinyrt_lut_s8.c", "strips"),
        ("src/tinyrt_add_s8.c", "tests/c"),
        ("internal/tinyrt_root_table.h", "tests/c/test_tables.py"),
        ("internal/tinyrt_bits.h", "tests/dsp"),
    ],
)
def test_tests_of_kernels_exist(reach, path, part):
    tests = reach.tests_of(Place(f"tinyrt/kernels_c/{path}", "", 0, 1))
    assert any(part in test for test in tests[:2])
    assert all((copies.ROOT / test).exists() for test in tests)


def test_faults_in_c_need_no_record(tmp_path):
    """The tests of kernels stand in a table; a file of tests takes longer than a test."""
    nothing = Record(tmp_path)
    kernel, module = (Place(f"tinyrt/kernels_c/{name}", "", 0, 1) for name in ("a.c", "a.py"))
    assert not needs_record(nothing, [(kernel, "")])
    assert needs_record(nothing, [(kernel, ""), (module, "")])
    of_file, of_test = map(Reach(nothing).seconds_of, ("tests/test_a.py", "tests/test_a.py::test"))
    assert of_file > of_test > 0


def test_times_are_those_of_the_record(reach):
    assert not needs_record(reach.record, [(Place("tinyrt/made.py", "", 0, 4), "")])
    assert reach.seconds_of("tests/test_a.py::test_one") == 0.3
    assert reach.seconds_of("tests/test_a.py") == pytest.approx(0.6)


def test_the_table_counts_each_package(monkeypatch):
    def verdict(path, noticed):
        return Verdict(path, 1, "plus", "a", "b", noticed, "", 1, 1.0)

    monkeypatch.setitem(equivalents.EQUIVALENT, "tinyrt/ir/c.py", {"a -> b": "nobody asks"})
    names = {"ir/a": True, "ir/b": False, "ir/c": False, "text": True}
    verdicts = [verdict(f"tinyrt/{name}.py", noticed) for name, noticed in names.items()]
    assert table(verdicts, [verdict("tinyrt/ir/b.py", noticed=True)]).splitlines()[2:] == [
        "| `tinyrt` | 1 | 0 | 1 (100%) | 1 |",
        "| `tinyrt/ir` | 3 | 1 | 1 (50%) | 2 |",
        "| `all` | 4 | 1 | 2 (67%) | 3 |",
    ]


@pytest.mark.whole
def test_survivors_are_tried_again(monkeypatch):
    monkeypatch.setitem(equivalents.EQUIVALENT, "tinyrt/text.py", {})
    faults = chosen(every_place(["tinyrt/text.py"]), "", 3, 1)
    before = (copies.ROOT / "tinyrt/text.py").read_text()
    verdicts = [
        Verdict(p.path, p.line, p.operator, *changed_lines(before, after), i == 1, "", 1, 1.0)
        for i, (p, after) in enumerate(faults)
    ]
    gone = replace(verdicts[0], after="what the file can no longer become")
    assert sorted(survivors([*verdicts, gone])) == sorted([faults[0], faults[2]])


def test_equivalents_are_of_lines_that_are_there():
    """Any arrow of a change may be that between its lines, as functions have arrows, too."""
    for path, of in equivalents.EQUIVALENT.items():
        code = "".join((copies.ROOT / path).read_text().split())
        for change, reason in of.items():
            *line, _ = accumulate("".join(change.split()).split("->"), "{}->{}".format)
            assert any(before in code for before in line), change
            assert reason
