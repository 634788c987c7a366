"""Answers are found among whatever arrives, however it is cut."""

import re
import zlib
from pathlib import Path

import numpy as np

from tests.board.fake import sealed
from tinyrt.board.frames import MAX_ANSWER_BYTES, Answer, Reader, frame
from tinyrt.export.board import Command, Fault

ROOT = Path(__file__).parents[2]

FIRST, SECOND = Answer(3, 7, b"\0abc"), Answer(4, 8, b"\xa5\x5a\0")
STREAM = (
    *(b"m-ready\r\n\xa5", sealed(0x83, 7, b"\0abc"), b"\xa5\xa5\x5a"[:1], b"\x00"),
    *(sealed(0x84, 8, b"\xa5\x5a\0"), b"\xa5"),
)


def test_a_command_is_the_frame_that_the_page_says():
    body = bytes([2, 255, 3, 0]) + b"abc"
    assert frame(2, 255, b"abc") == b"\xa5\x5a" + body + zlib.crc32(body).to_bytes(4, "little")
    assert frame(0x81, 1, bytes(300)) == sealed(0x81, 1, bytes(300))


def test_answers_are_found_wherever_the_stream_is_cut():
    data = b"".join(STREAM)
    for cut in range(len(data) + 1):
        reader = Reader()
        assert reader.take(data[:cut]) + reader.take(data[cut:]) == [FIRST, SECOND]
    reader = Reader()
    parts = [reader.take(data[i : i + 1]) for i in range(len(data))]
    assert [answer for part in parts for answer in part] == [FIRST, SECOND]
    # Each as soon as its last byte is there.
    ends = [i + 1 for i, part in enumerate(parts) if part]
    assert ends == [len(b"".join(STREAM[:2])), len(data) - 1]


def test_a_damaged_answer_hides_no_other():
    good = sealed(0x83, 7, b"\0abc")
    for at in range(6, len(good)):
        damaged = good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :]
        assert Reader().take(damaged + good) == [Answer(3, 7, None), FIRST]
    # What looked like a frame held one.
    around = b"\xa5\x5a\x81\x01\x20\x00" + good
    reader = Reader()
    assert reader.take(around) == []
    assert reader.take(bytes(40)) == [Answer(1, 1, None), FIRST]


def test_commands_that_come_back_are_no_answers():
    reader = Reader()
    assert reader.take(frame(3, 7) + frame(2, 8, b"abcd") + sealed(0x83, 7, b"\0abc")) == [FIRST]
    assert reader.take(frame(3, 7, bytes(MAX_ANSWER_BYTES))) == []
    assert reader.strange == 0


def test_the_longest_answer_is_one_and_what_is_longer_is_strange():
    reader = Reader()
    assert MAX_ANSWER_BYTES == 4096
    (answer,) = reader.take(sealed(0x84, 1, bytes(MAX_ANSWER_BYTES)))
    assert len(answer.payload) == MAX_ANSWER_BYTES
    assert reader.strange == 0
    assert reader.take(sealed(0x84, 1, bytes(MAX_ANSWER_BYTES + 1))) == []
    assert reader.strange == MAX_ANSWER_BYTES + 1
    assert reader.take(sealed(0x84, 2, bytes(60_000)) + sealed(0x84, 3, bytes(5_000))) == []
    assert reader.strange == 60_000
    assert reader.take(sealed(0x83, 7, b"\0abc")) == [FIRST]


def test_the_last_bytes_that_were_skipped_are_kept():
    reader = Reader()
    reader.take(bytes(range(100)))
    assert reader.skipped == bytes(range(36, 100))
    reader.take(sealed(0x83, 7, b"\0abc"))
    assert reader.skipped == bytes(range(36, 100))
    reader.take(b"x")
    assert reader.skipped == bytes(range(37, 100)) + b"x"


def test_random_bytes_between_answers_change_nothing():
    rng = np.random.default_rng(5)
    for _ in range(200):
        noise = rng.bytes(rng.integers(0, 60)).replace(b"\xa5", b"")
        reader = Reader()
        assert reader.take(noise + sealed(0x83, 7, b"\0abc") + noise) == [FIRST]


def test_the_page_names_commands_and_faults():
    page = (ROOT / "docs" / "boards.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) ([A-Z_]+) \|", page, re.MULTILINE)
    assert rows == [(str(int(member)), member.name) for member in (*Command, *list(Fault)[1:])]
