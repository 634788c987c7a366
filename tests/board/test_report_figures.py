"""What a validation says of its figures: all that decide, one by one."""

import struct
from types import SimpleNamespace

import pytest

from tests.board.fake import sealed
from tinyrt.board.session import SELFTEST_FIELDS, SIGNED, Session
from tinyrt.board.validation import Difference, Ticks, ValidationReport
from tinyrt.emulate.cycles import Cycles
from tinyrt.errors import ToolError
from tinyrt.export.board import MEANINGS, Command, Fault

DIFFERENCE = Difference(0, "y", 1, 2.0, 3.0)


def test_each_figure_of_a_difference_has_its_name():
    found = DIFFERENCE.as_dict()
    assert found == {"sample": 0, "output": "y", "index": 1, "expected": 2.0, "found": 3.0}
    assert str(DIFFERENCE) == "sample 0, output 'y', element 1: 3 instead of 2"


def report(*, difference=None, selftest=None, told=None, median=100, per_second=0):
    ticks = Ticks(1, median, 1000, per_second)
    return ValidationReport("port", None, 1, 1, difference, ticks, selftest, told)


def told(low=90, high=110, clock_hz=None):
    return SimpleNamespace(timing=SimpleNamespace(clock_hz=clock_hz), cycles=Cycles(low, high))


@pytest.mark.parametrize(
    ("difference", "selftest", "passed", "agrees"),
    [
        (None, None, None, True),
        (None, {"status": 0}, True, True),
        (None, {"status": -1}, False, False),
        (DIFFERENCE, None, None, False),
        (DIFFERENCE, {"status": 0}, True, False),
    ],
)
def test_a_board_agrees_if_its_answers_and_its_own_test_do(difference, selftest, passed, agrees):
    found = report(difference=difference, selftest=selftest)
    assert found.passed is passed
    assert found.agrees is agrees


@pytest.mark.parametrize(
    ("clock_hz", "per_second", "measured"),
    [(None, 0, 100), (1000, 0, 100), (None, 10, 100), (1000, 10, 10_000)],
)
def test_ticks_are_cycles_unless_both_clocks_are_known(clock_hz, per_second, measured):
    found = report(told=told(clock_hz=clock_hz), per_second=per_second)
    assert found.measured == measured
    assert report(per_second=per_second).measured is None


@pytest.mark.parametrize(
    ("median", "as_told"), [(89, False), (90, True), (110, True), (111, False)]
)
def test_cycles_are_as_told_from_the_least_to_the_most(median, as_told):
    assert report(told=told(), median=median).as_told is as_told
    assert report(median=median).as_told is None


class Scripted:
    """A line whose board answers one command with these bytes."""

    name = "line"

    def __init__(self, payload):
        self._payload, self._asked = payload, b""

    def write(self, data):
        self._asked = data

    def read(self):
        command, sequence = self._asked[2:4]
        return sealed(command | 0x80, sequence, self._payload)


ASKED = {
    Command.RESET: (0, Session.reset, None),
    Command.LOAD: (0, lambda session: session.load(b"1234", 8), None),
    Command.RUN: (12, Session.run, 0),
    Command.READ: (5, lambda session: session.outputs(5, 6), bytes(5)),
    Command.SELFTEST: (36, Session.selftest, dict.fromkeys(SELFTEST_FIELDS, 0)),
}
"""Command -> bytes of its answer, who asks it, and what that makes of zeros."""


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("command", ASKED)
def test_answers_have_the_length_that_was_asked_for(command, more):
    nbytes, ask, made = ASKED[command]
    session = Session(Scripted(bytes(1 + nbytes + more)), 1.0)
    if not more:
        assert ask(session) == made
        return
    found = "nothing in it" if nbytes + more < 0 else f"{nbytes + more} bytes"
    with pytest.raises(ToolError) as caught:
        ask(session)
    assert caught.value.problem == f"the board at line answers {command.name} with {found}"
    assert caught.value.expected == (
        "a fault from 0 to 8" if nbytes + more < 0 else f"{nbytes} bytes"
    )


@pytest.mark.parametrize("code", range(3, 10))
def test_a_fault_is_told_by_what_it_means_or_by_its_number(code):
    with pytest.raises(ToolError) as caught:
        Session(Scripted(bytes([code])), 1.0).reset()
    if code < 9:
        fault = Fault(code)
        said = f"refuses RESET: {fault.name}, {MEANINGS[fault]}"
        expected = "a firmware that was built from one export"
    else:
        said, expected = "answers RESET with fault 9", "a fault from 0 to 8"
    found = (caught.value.problem, caught.value.expected)
    assert found == (f"the board at line {said}", expected)


def test_an_answer_of_any_length_is_taken_where_none_is_asked_for():
    for payload in (b"", b"12"):
        assert Session(Scripted(b"\0" + payload), 1.0).ask(Command.IDENTIFY) == payload


@pytest.mark.parametrize("number", [0, 1, (1 << 30), (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_numbers_of_a_self_test_have_the_sign_that_they_have_in_c(number):
    payload = struct.pack(f"<B{len(SELFTEST_FIELDS)}I", 0, *[number] * len(SELFTEST_FIELDS))
    (signed,) = struct.unpack("<i", struct.pack("<I", number))
    found = Session(Scripted(payload), 1.0).selftest()
    assert found == {name: signed if name in SIGNED else number for name in SELFTEST_FIELDS}
