"""A board that does not answer: what it is said to do, by what came before."""

import pytest

from tests.board.fake import sealed
from tinyrt.board.session import Session
from tinyrt.errors import ToolError
from tinyrt.export.board import Command, Fault

OWN, OLD, BAD, REFUSED, TEXT = "own", "old", "bad", "refused", b"boot\r\n"
"""An answer, one to the command before, a damaged one, one to a damaged frame, and what is none."""

ZEROS = 200
"""Bytes of what is written between two tries, at least; a command has fewer."""


class Scripted:
    """A line that has these bytes behind each command that is written, one after the other."""

    name = "line"

    def __init__(self, *parts):
        self._parts, self._waiting = list(parts), b""

    def write(self, data):
        if len(data) < ZEROS:
            command, sequence = data[2], data[3]
            own = sealed(command | 0x80, sequence, b"\0")
            frames = {
                OWN: own,
                BAD: own[:-1] + bytes([own[-1] ^ 1]),
                OLD: sealed(command | 0x80, (sequence - 1) % 256, b"\0"),
                REFUSED: sealed(command | 0x80, sequence, bytes([Fault.BAD_CRC])),
            }
            parts = self._parts.pop(0) if self._parts else ()
            self._waiting = b"".join(frames.get(part, part) for part in parts)

    def read(self):
        data, self._waiting = self._waiting, b""
        return data


CASES = {
    "nothing": ((), "line is silent: RESET"),
    "text": (([TEXT],), "line sends bytes that are no frames"),
    "an answer, and nothing": (([OWN],), "line answered before, and not to RESET"),
    "an old answer": (([OLD],), "line answers too late"),
    "an old answer to the second try": (([], [OLD]), "line answers too late"),
    "an answer, and an old one": (([OWN], [OLD]), "line answers too late"),
    "an old answer before, and nothing": (([OLD, OWN],), "line answered before, and not to RESET"),
    "an answer, a damaged one, and nothing": (
        ([OWN], [BAD]),
        "line answered before, and not to RESET",
    ),
    "text before, and nothing": (([TEXT, OWN],), "line answered before, and not to RESET"),
}


@pytest.mark.parametrize("case", CASES)
def test_silence_is_told_by_what_came_for_this_command(case):
    parts, said = CASES[case]
    session = Session(Scripted(*parts), 0.01)
    if OWN in (parts or ((),))[0]:
        assert session.ask(Command.RESET) == b""
    with pytest.raises(ToolError, match=said):
        session.ask(Command.RESET)


@pytest.mark.parametrize(
    ("before", "last", "said"),
    [
        (REFUSED, BAD, "answers from line arrive damaged: that to RESET"),
        (BAD, REFUSED, "the board at line gets damaged frames: RESET"),
    ],
)
def test_of_damage_on_both_ways_the_last_is_told(before, last, said):
    session = Session(Scripted(*[[before]] * 3, [last]), 0.01)
    with pytest.raises(ToolError, match=said):
        session.ask(Command.RESET)
