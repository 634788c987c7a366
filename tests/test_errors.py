"""Errors say what, where, what was expected and what to do; each fact once, and the nearest."""

import inspect
import re
import sys

import numpy as np
import pytest

from tests.graphs import small_cnn
from tinyrt.errors import (
    MAX_JSON,
    BudgetError,
    DataError,
    DefectError,
    ModelFormatError,
    NotAllocatedError,
    TinyrtError,
    ToolError,
    VerifyError,
    advising,
    boundary,
    catch_all,
    error_context,
    raised_in,
)
from tinyrt.quantize import quantize_graph
from tinyrt.quantize.config import QuantizationWarning
from tinyrt.text import shortened

FACTS = {"file": "a.bin", "op": "#0 add 'a'", "tensor": "'x'", "expected": "b", "hint": "c"}


def leaves(action, kind=TinyrtError):
    with pytest.raises(kind) as caught:
        action()
    return caught.value


def raising(error, context):
    """What becomes of an error that is raised inside."""

    def action():
        with context:
            raise error

    return leaves(action, Exception)


def test_a_message_has_its_facts_in_order_each_under_its_name():
    assert str(TinyrtError("no", **FACTS)).split("\n") == [
        "no",
        "  file:     a.bin",
        "  op:       #0 add 'a'",
        "  tensor:   'x'",
        "  expected: b",
        "  try:      c",
    ]
    assert str(TinyrtError("no", hint="c")) == "no\n  try:      c"
    assert TinyrtError("no", **FACTS).as_dict() == {"problem": "no"} | FACTS
    assert TinyrtError("no", op="").as_dict() == {"problem": "no"}
    assert TinyrtError("no").args == ("no",)


@pytest.mark.parametrize(
    ("field", "most"),
    [("file", 200), ("op", 220), ("tensor", 220), ("expected", 400), ("hint", 300)],
)
def test_facts_are_cut_beyond_their_length_and_not_at_it(field, most):
    label = "  " + f"{'try' if field == 'hint' else field}:".ljust(10)
    for length in (most, most + 1):
        fact = "x" * length
        assert str(TinyrtError("no", **{field: fact})) == f"no\n{label}{shortened(fact, most)}"


def test_a_message_has_twelve_lines_and_json_all_that_is_not_very_long():
    problem = "\n".join(map(str, range(30)))
    for facts in ({}, FACTS):
        lines = str(TinyrtError(problem, **facts)).split("\n")
        assert len(lines) == 12
        assert (lines[0], lines[11 - len(facts)]) == ("0", "29")
    assert str(TinyrtError("x" * 801)) == shortened("x" * 801, 800)
    assert str(TinyrtError("x" * 800)) == "x" * 800
    assert MAX_JSON == 4000
    for length in (4000, 4001):
        expected = {"problem": shortened("x" * length, 4000)}
        assert TinyrtError("x" * length).as_dict() == expected


def test_an_interpreter_that_is_not_ready_says_what_to_call():
    error = NotAllocatedError()
    assert isinstance(error, RuntimeError)
    assert isinstance(error, ValueError)
    assert str(error).split("\n") == [
        "tensors are not allocated",
        "  try:      call allocate_tensors() first",
    ]


def test_where_it_happened_is_added_where_nothing_is_said():
    here = {"file": "here", "op": "here"}
    found = raising(DataError("no"), error_context(**here))
    assert (found.file, found.op) == ("here", "here")
    found = raising(DataError("no", file="there", op="there"), error_context(**here))
    assert (found.file, found.op) == ("there", "there")
    found = raising(ToolError("no"), error_context(**here))
    assert (found.file, found.op) == (None, "here")
    found = raising(DataError("no", file="there", op="there"), error_context())
    assert (found.file, found.op) == ("there", "there")


def test_an_unforeseen_failure_keeps_the_innermost_op():
    def action():
        with (
            boundary("file", file="a.bin", step="planning"),
            error_context(op="outer"),
            error_context(op="inner"),
            error_context(file="b.bin"),
        ):
            raise KeyError("x")

    error = leaves(action, DefectError)
    assert (error.op, error.file) == ("inner", "a.bin")
    assert error.problem == "planning the file failed: KeyError: 'x'"
    assert "says what in it does not" in error.expected
    assert "export it again" in error.hint
    assert "report it" in error.hint


def test_the_advice_for_a_class_of_errors_is_for_those_without_any():
    hints = {DataError: "convert", BudgetError: "allow"}
    assert raising(DataError("no"), advising(hints)).hint == "convert"
    assert raising(DataError("no", hint="own"), advising(hints)).hint == "own"
    assert raising(VerifyError("no"), advising(hints)).hint is None


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (MemoryError(), BudgetError, "the data file needs too much: memory ran out"),
        (RecursionError(), BudgetError, "the data file needs too much: nested calls ran out"),
        (EOFError("end"), DataError, "the data file is cut short or damaged (EOFError: end)"),
        (OSError("bad"), DefectError, "reading the data file failed: OSError: bad"),
    ],
)
def test_a_reader_fails_in_its_own_way(error, kind, says):
    context = boundary("data file", file="a.npz", corrupt=(EOFError,), damaged=DataError)
    found = raising(error, context)
    assert type(found) is kind
    assert (found.problem, found.file) == (says, "a.npz")
    assert found.hint
    assert found.__cause__ is error


def test_a_reader_without_a_class_of_its_own_says_that_the_file_is_damaged():
    found = raising(EOFError("end"), boundary("model", corrupt=(EOFError,)))
    assert type(found) is ModelFormatError
    assert found.hint == "copy or export it again"


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (MemoryError(), BudgetError, "this needs too much: memory ran out, PLACE"),
        (RecursionError(), BudgetError, "this needs too much: nested calls ran out, PLACE"),
        (ValueError("two\n  lines"), DefectError, "tinyrt failed PLACE: ValueError: two lines"),
        (KeyError("x" * 400), DefectError, f"tinyrt failed PLACE: KeyError: '{'x' * 299}"),
    ],
)
def test_unforeseen_failures_say_where_and_how_to_see_more(error, kind, says):
    found = raising(error, catch_all())
    assert type(found) is kind
    place = r"in tinyrt/errors\.py, line \d+, catch_all"
    assert re.fullmatch(re.escape(says).replace("PLACE", place), found.problem)
    assert "TINYRT_TRACEBACK=1" in found.hint
    assert ("report it" in found.hint) is (kind is DefectError)
    assert bool(found.expected) is (kind is DefectError)


def test_errors_belong_to_the_package_that_raised_them():
    def parse():
        import json

        json.loads("{")

    error = leaves(parse, ValueError)
    assert raised_in(error, "tinyrt", "json")
    assert not raised_in(error, "tests")
    assert not raised_in(ValueError(), "")


def test_a_warning_names_the_line_that_called_the_package():
    graph = small_cnn()
    few = np.zeros((1, 8, 8, 3), np.float32)
    with pytest.warns(QuantizationWarning) as found:
        inspect.unwrap(quantize_graph)(graph, few)  # without the frame of who listens to tests
    here = sys._getframe().f_lineno - 1
    assert {(w.filename, w.lineno) for w in found} == {(__file__, here)}
