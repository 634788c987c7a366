"""What functions return to tests is written down and compared: texts, and runs of few tests."""

import pickle
import sys
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tinyrt
from tests.outcome_calls import listen
from tests.outcome_lines import ENOUGH, PATIENCE, SELDOM, Lines
from tests.outcome_texts import LONGEST, agree, kept, normal, text_of
from tests.outcomes_plugin import differences
from tests.trees import run_pytest, write_tree
from tinyrt.fixedpoint import round_half_away
from tinyrt.ir.types import DType, QParams, TensorType

ROOT = Path(__file__).parents[1]
CONFTEST = """
    from pathlib import Path
    from tests.outcomes_plugin import Outcomes, pytest_addoption

    def pytest_configure(config):
        config.pluginmanager.register(Outcomes(config, Path(__file__).parent / "outcomes"))
"""
TESTS = """
    import pytest
    from typer.testing import CliRunner
    from tinyrt import fixedpoint
    from tinyrt.cli.app import app
    from tinyrt.fixedpoint import inverse_roots, round_half_away

    @pytest.mark.parametrize("n", [4, 9, 16, 25])
    def test_roots(n):
        assert inverse_roots(n)

    def test_what_a_test_sees_whole():
        assert round_half_away(2.5) in (2, 3)

    def test_a_function_of_a_module():
        assert fixedpoint.quantize_multiplier(0.5)[1] == 0

    def test_a_command():
        assert CliRunner().invoke(app, ["--version"]).exit_code == 0

    def test_that_fails():
        assert fixedpoint.inverse_roots([4])[0] == 0
"""
COMMAND = "tests/test_few.py::test_a_command command 1\ntinyrt VERSION\n"
MULTIPLIER = (
    "tests/test_few.py::test_a_function_of_a_module fixedpoint.quantize_multiplier 1\n"
    "[1073741824, 0]\n"
)


@pytest.fixture
def folder(tmp_path):
    """Tests of some functions and a command, one of which fails."""
    files = {
        "tests/conftest.py": CONFTEST,
        "tests/test_few.py": TESTS,
        "pytest.ini": "[pytest]\ntestpaths = tests",
    }
    return write_tree(tmp_path, files)


def run(folder: Path, *options: str, **environment: str) -> str:
    """What a run of the tests in a folder says."""
    answer = run_pytest(folder, *options, **environment)
    return answer.stdout + answer.stderr


def written(folder: Path) -> list[str]:
    return (folder / "tests" / "outcomes" / "modules.txt").read_text().split("\n\n")


@pytest.mark.whole
def test_outcomes_are_written_until_each_line_has_enough_and_then_compared(folder):
    said = run(folder, "--write-outcomes", "-rP")
    assert "1 failed, 7 passed" in said
    blocks = [block.rstrip() + "\n" for block in written(folder)]
    assert blocks[:2] == [COMMAND, MULTIPLIER]
    roots = [block for block in blocks if "inverse_roots 1\n" in block]
    assert len(roots) == ENOUGH
    assert len(blocks) == 2 + ENOUGH
    assert "fixedpoint.quantize_multiplier" in said

    file = folder / "tests" / "outcomes" / "modules.txt"
    file.write_text(file.read_text().replace("[1073741824, 0]", "[1073741824, 1]"))
    said = run(folder)
    assert "fixedpoint.quantize_multiplier 1 returned" in said
    assert "pytest 'tests/test_few.py::test_a_function_of_a_module' --update-outcomes" in said
    assert "2 failed, 6 passed" in said

    run(folder, "--update-outcomes", "-k", "module or sees or roots")
    assert [block.rstrip() + "\n" for block in written(folder)] == blocks


@pytest.mark.whole
def test_a_call_that_is_not_made_any_more_is_missed(folder):
    run(folder, "--write-outcomes")
    file = folder / "tests" / "test_few.py"
    file.write_text(file.read_text().replace("fixedpoint.quantize_multiplier(0.5)[1]", "0"))
    assert "fixedpoint.quantize_multiplier 1 was not called, or failed" in run(folder)


@pytest.mark.whole
def test_a_whole_run_says_which_tests_are_gone(folder):
    """Or have another name by now, and nothing compares what they get."""
    run(folder, "--write-outcomes")
    file = folder / "tests" / "test_few.py"
    text = file.read_text().replace("a_function_of_a_module", "another")
    file.write_text(text.replace("test_that_fails", "_that_fails"))
    gone = "outcomes of tests that are not there"
    assert gone not in run(folder, "-k", "command")
    answer = run_pytest(folder)
    assert answer.returncode == 1
    assert gone in answer.stdout
    assert "\ntests/test_few.py::test_a_function_of_a_module\n" in answer.stdout
    run(folder, "--update-outcomes")
    assert MULTIPLIER not in "\n\n".join(written(folder))
    assert run_pytest(folder).returncode == 0


@pytest.mark.whole
def test_with_all_cases_nothing_is_compared_or_written(folder):
    run(folder, "--write-outcomes")
    file = folder / "tests" / "outcomes" / "modules.txt"
    file.write_text(file.read_text().replace("[1073741824, 0]", "[1073741824, 1]"))
    assert "2 failed" in run(folder)
    assert "1 failed" in run(folder, TINYRT_TESTS="all")
    assert "of the cases of make test" in run(folder, "--write-outcomes", TINYRT_TESTS="all")


@dataclass(frozen=True)
class Named:
    """Not of the package: its properties are not asked for."""

    name: str
    notes: tuple[str, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)
    _key: int = 3


class Lazy:
    """As a class of the package that keeps what it was asked for."""

    __module__ = "tinyrt.lazy"

    def __init__(self) -> None:
        self.first = 1

    @property
    def second(self) -> int:
        return self.first + 1

    @property
    def third(self) -> int:
        raise ValueError

    @cached_property
    def fourth(self) -> int:
        return 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (3, "3"),
        (0.12345678, "0.1235"),
        (2.0, "2.000"),
        ("a b", '"a b"'),
        (b"abc", "3 bytes"),
        (DType.INT8, "INT8"),
        ((1, [2.5]), "[1, [2.500]]"),
        ({"b": 1, "a": 2}, '{"b": 1, "a": 2}'),
        ({"b", "a"}, '{"a", "b"}'),
        (np.float32(0.5), "float32 0.5000"),
        (np.array([[1, -2]], np.int8), "int8[1, 2] 1 -2"),
        (np.arange(8.0), "float64[8] ~ 4.183 8.018 6.480"),
        (np.array(["a"]), "<U1[1]"),
        (Named("x"), 'Named(name="x")'),
        (Named("x", ("y",), {"z": 1}), 'Named(name="x", notes=["y"], sizes={"z": 1})'),
        (QParams((0.5,), 3), "QParams(scales=[0.5000], zero_point=3, scale=0.5000)"),
        (Lazy(), 'Lazy(first=1, second=2, third="ValueError")'),
        (iter([1]), "<list_iterator>"),
    ],
)
def test_all_that_a_value_holds_is_said(value, text):
    assert text_of(value) == text


def test_what_an_object_keeps_when_it_is_asked_is_no_part_of_it():
    lazy = Lazy()
    before = text_of(lazy)
    assert lazy.fourth == 4
    assert text_of(lazy) == before


def test_what_holds_itself_ends():
    parts: list[object] = [1]
    parts.append(parts)
    assert text_of(parts) == "[1, ...]"


def test_files_are_told_by_what_they_hold_unless_they_are_kernels_or_no_text(tmp_path):
    (tmp_path / "model.h").write_text("int a;")
    (tmp_path / "model.tflite").write_bytes(b"\0\1")
    (tmp_path / "model.txt").write_bytes(b"\xff")
    kernel = "tinyrt_axis.h"
    assert list((ROOT / "tinyrt" / "kernels_c").rglob(kernel))
    (tmp_path / kernel).write_text("int b;")
    shown = text_of(tmp_path)
    assert shown.startswith(f"{tmp_path}/ [model.h: int a;, model.tflite, model.txt, ")
    assert normal(shown, str(tmp_path.parent)).startswith("TMP/ [model.h: int a;")
    assert text_of(tmp_path / "model.h") == f"{tmp_path}/model.h: int a;"
    assert kernel in shown
    assert "int b" not in shown


def test_what_differs_between_runs_is_left_out(monkeypatch):
    monkeypatch.setenv("TINYRT_ZOO", "/models")
    said = f"/tmp/x/test_a0/net.c of /models/net.onnx in 3.25 s by {tinyrt.__version__} as 12ab34cd"
    assert normal(said, "/tmp/x") == "TMP/net.c of ZOO/net.onnx in N s by VERSION as DIGEST"
    assert normal(f"{ROOT}/docs at 0x7f3312ab40", "/tmp/x") == "ROOT/docs at 0x..."
    assert normal("deadbeef 12345678", "/tmp/x") == "deadbeef 12345678"
    assert normal("0.1, export 12345678", "/tmp/x") == "0.1, export DIGEST"
    packed = '{"packed_bytes": 98887}', "packed again on the host   1,098,887 "
    assert [normal(said, "/tmp/x") for said in packed] == [
        '{"packed_bytes": N}',
        "packed again on the host   N ",
    ]
    assert normal("\ud800scratch", "/tmp/x") == "\\ud800scratch"


LONG = "Plan(" + ", ".join(f"size={n}, scale={n / 7:#.4g}" for n in range(1, 60)) + ")"


@pytest.mark.parametrize(
    ("now", "before", "same"),
    [
        ("a=3", "a=3", True),
        ("a=3", "a=4", False),
        ("a=3", "b=3", False),
        ("a=0.5000", "a=0.5001", True),
        ("a=0.5000", "a=0.5100", False),
        ("a=0.5000", "a=-0.5000", False),
        ("a=1.000e-09", "a=-2.000e-09", True),
        ("a=1073741824", "a=1073741830", True),
        ("a=1073741824", "a=1083741824", False),
        ("a=123456", "a=123457", False),
        (LONG, LONG.replace("0.1429", "0.1430"), True),
        (LONG, LONG.replace("0.1429", "0.1629"), False),
        (LONG, LONG.replace("size=59", "size=58"), False),
        (LONG, LONG.replace("size=1,", "size=2,"), False),
        (LONG, "a=3", False),
    ],
)
def test_texts_agree_if_only_roundings_differ(now, before, same):
    assert agree(kept(now), kept(before)) is same
    assert agree(kept(before), kept(now)) is same


def test_long_texts_are_kept_by_their_beginning():
    assert kept("x" * LONGEST) == "x" * LONGEST
    assert kept("x" * LONGEST + "y").startswith("xxx")
    assert len(kept("x" * LONGEST + "y")) < LONGEST
    assert kept("a\n  b") == "a b"


def test_outcomes_that_differ_are_said_with_those_that_are_missing():
    known = {"t f 1": "a=3", "t f 2": "a=4", "t g 1": "b"}
    assert differences({"t f 1": "a=3", "t f 2": "a=5"}, known) == [
        "f 2 returned\n  a=5\nand not\n  a=4",
        "g 1 was not called, or failed",
    ]


@pytest.fixture
def module():
    """As a module of tests; nobody has listened to what this one imports as a whole."""
    made = ModuleType("of_tests")
    made.fixedpoint = sys.modules["tinyrt.fixedpoint"]
    made.round, made.type = made.fixedpoint.round_half_away, TensorType
    return made


def test_functions_that_are_listened_to_stay_what_they_were(module):
    said = []
    own = module.round
    listen([module], lambda name, call: said.append(name) or call())
    assert module.round(2.5) == module.fixedpoint.round_half_away(2.5) == own(2.5)
    assert said == ["fixedpoint.round_half_away"] * 2
    assert module.type is TensorType
    assert module.round.__doc__ == own.__doc__
    assert pickle.loads(pickle.dumps(module.round)) is own


def test_what_is_put_into_a_module_goes_there_and_comes_back_as_it_was(module):
    own = module.fixedpoint
    before = own.round_half_away
    listen([module], lambda _, call: call())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.fixedpoint, "round_half_away", abs)
        assert own.round_half_away is abs
    assert own.round_half_away is before
    module.fixedpoint.another = 1
    assert own.another == 1
    del module.fixedpoint.another
    assert not hasattr(own, "another")


def test_lines_are_held_by_enough_outcomes_and_need_no_more():
    lines = Lines()
    for _ in range(ENOUGH):
        with lines.noted() as ran:
            replace(QParams((0.5,)), zero_point=1)
            round_half_away(0.5)
        names = {code.co_name for code, _ in ran()}
        assert names == {"__post_init__", "<genexpr>", "round_half_away"}
        lines.hold(ran(), "kind")
    with lines.noted() as ran:
        replace(QParams((0.5,)), zero_point=1)
        round_half_away(0.5)
    assert not ran()
    with lines.noted() as ran, pytest.raises(ValueError, match="at least one"):
        QParams(())
    assert len(ran()) == 1


def test_what_has_no_new_line_for_long_is_looked_at_seldom():
    lines = Lines()
    assert not any(lines.is_dull("kind") for _ in range(PATIENCE))
    assert [lines.is_dull("kind") for _ in range(2 * SELDOM)].count(False) == 2
    lines.hold(frozenset(), "kind")
    assert not lines.is_dull("kind")
