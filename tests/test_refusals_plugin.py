"""The plugin that lists raise statements whose message no test reads, on a package of two."""

import sys
from pathlib import Path

import pytest

import tinyrt.errors
from tests.refusals_plugin import Raise, Reads, raises_of, reason_for
from tests.refusals_unread import REASONS_BY_NAME, REASONS_BY_PLACE
from tests.sampling import sampled
from tests.trees import run_pytest, write_tree

ROOT = Path(__file__).parents[1]

ERRORS = """
    class MadeUpError(Exception):
        def __init__(self, problem):
            super().__init__(problem)
            self.problem = problem

        def __str__(self):
            return self.problem
"""
PACKAGE = """
    from madeup.errors import MadeUpError

    def first():
        raise MadeUpError("the first refusal")

    def second():
        raise MadeUpError(
            "the second refusal"
        )

    def third():
        try:
            first()
        except MadeUpError as error:
            raise ValueError(f"not at all: {error}") from error

    def fourth():
        try:
            second()
        except MadeUpError as error:
            raise ValueError("not at all") from error
"""
CONFTEST = """
    from pathlib import Path
    import madeup
    from tests.refusals_plugin import Enumerator, pytest_addoption

    def pytest_configure(config):
        package = Path(madeup.__file__).parent
        config.pluginmanager.register(Enumerator(config, package, madeup.MadeUpError))
"""
TESTS = """
    import madeup
    import pytest

    def test_the_first_is_read():
        with pytest.raises(madeup.MadeUpError, match="first"):
            madeup.first()

    def test_the_second_is_reached_alone():
        with pytest.raises(madeup.MadeUpError):
            madeup.second()

    def test_the_third_is_read():
        with pytest.raises(ValueError, match="not at all"):
            madeup.third()
"""


@pytest.fixture
def folder(tmp_path):
    """A package, and tests that read two of its four messages."""
    files = {
        "madeup/__init__.py": PACKAGE,
        "madeup/errors.py": ERRORS,
        "tests/conftest.py": CONFTEST,
        "tests/test_madeup.py": TESTS,
        "pytest.ini": "[pytest]\ntestpaths = tests",
    }
    return write_tree(tmp_path, files)


def run(folder: Path, *options: str) -> tuple[int, list[str]]:
    """The exit status of a run of those tests, and the lines that name raise statements."""
    answer = run_pytest(folder, *options)
    return answer.returncode, [line for line in answer.stdout.splitlines() if ": raise " in line]


SECOND = "madeup/__init__.py:8: raise MadeUpError('the second refusal')"
FOURTH = "madeup/__init__.py:22: raise ValueError('not at all')"


@pytest.mark.parametrize(
    "options",
    [
        (),
        pytest.param(("tests",), marks=pytest.mark.whole),
        pytest.param(("-p", "xdist", "-n", "1"), marks=[pytest.mark.slow, pytest.mark.whole]),
    ],
)
def test_a_whole_run_fails_with_what_no_test_read(folder, options):
    status, unread = run(folder, *options)
    assert status == 1
    assert [line.split(" from ")[0] for line in unread] == [SECOND, FOURTH]


OF_SOME = [("-k", "first or second"), ("tests/test_madeup.py",)]


@pytest.mark.slow
@pytest.mark.parametrize("options", sampled(OF_SOME[:1], OF_SOME))
@pytest.mark.whole
def test_a_run_of_some_tests_says_nothing_unless_asked(folder, options):
    assert run(folder, *options) == (0, [])
    status, unread = run(folder, *options, "--unread-refusals=madeup")
    assert status == 0
    assert SECOND in unread


def test_a_run_that_fails_otherwise_says_nothing(folder):
    (folder / "tests" / "test_bad.py").write_text("def test_bad():\n    assert False\n")
    assert run(folder) == (1, [])


@pytest.fixture
def madeup(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    import madeup

    yield madeup
    for name in ("madeup", "madeup.errors"):
        del sys.modules[name]


def lines_read(madeup, act) -> set[int]:
    """The lines of raise statements that were noted while a test did something."""
    reads = Reads(Path(madeup.__file__).parent, madeup.MadeUpError)
    with reads.watch():
        act()
    return {line for _, line in reads.places}


def caught(function, kind=Exception):
    with pytest.raises(kind) as info:
        function()
    return info


@pytest.mark.parametrize(
    ("read", "lines"),
    [
        (lambda m: caught(m.first), set()),
        (lambda m: str(caught(m.first).value), {5}),
        (lambda m: caught(m.second).value.problem, {8}),
        (lambda m: caught(m.third), set()),
        (lambda m: caught(m.third).value, {5, 16}),
        (lambda m: caught(m.fourth).value, {22}),
    ],
)
def test_a_message_counts_when_it_is_read_and_what_it_quotes_with_it(madeup, read, lines):
    assert lines_read(madeup, lambda: read(madeup)) == lines


def test_what_a_search_comes_across_does_not_count(madeup, monkeypatch):
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/fuzz/test_fuzz.py::test_models (call)")
    assert lines_read(madeup, lambda: str(caught(madeup.first).value)) == set()


@pytest.mark.whole
def test_every_reason_belongs_to_a_statement():
    statements = raises_of(Path(tinyrt.errors.__file__).parent)
    assert {one.exception for one in statements} >= set(REASONS_BY_NAME)
    idle = [
        f"{file}: {beginning}"
        for file, beginnings in REASONS_BY_PLACE.items()
        for beginning in beginnings
        if not any(one.file == file and one.text.startswith(beginning) for one in statements)
    ]
    assert idle == []


def test_only_what_is_listed_may_go_unread():
    assert reason_for(Raise("a.py", 1, "raise", ""))
    assert reason_for(Raise("a.py", 1, "raise DataError('no')", "DataError")) is None
