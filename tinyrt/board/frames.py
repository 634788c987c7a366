"""Frames of the protocol: commands as bytes, and answers found among whatever arrives.

A frame is ``A5 5A | command | sequence number | length, u16 | payload | CRC-32``, little-endian.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

MARK = b"\xa5\x5a"
ANSWER = 0x80
"""What an answer's command has more than the command that it answers."""

HEAD = struct.Struct("<BBH")
CRC = struct.Struct("<I")

MAX_ANSWER_BYTES = 4096
"""Longest payload that an answer is waited for; a greater length is not one of a frame."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A frame that has arrived.

    Attributes:
        command: of what it answers.
        sequence: number of what it answers.
        payload: its content; None where the CRC says that it is damaged.

    """

    command: int
    sequence: int
    payload: bytes | None


def frame(command: int, sequence: int, payload: bytes = b"") -> bytes:
    """A command as bytes; ``sequence`` has 8 bits, and a payload at most 65,535 bytes."""
    body = HEAD.pack(command, sequence, len(payload)) + payload
    return MARK + body + CRC.pack(zlib.crc32(body))


class Reader:
    """Finds answers in a stream of bytes.

    Behind a damaged one it looks again from its mark on, so that what only looked like one hides no
    other.

    Attributes:
        skipped: the last bytes that belong to no answer, at most 64 of them.
        strange: the greatest length that a mark announced, and that no answer has; 0 for none.

    """

    def __init__(self) -> None:
        self._bytes = b""
        self.skipped = b""
        self.strange = 0

    def take(self, data: bytes) -> list[Answer]:
        """The answers that are whole with these bytes, in their order."""
        self._bytes += data
        answers = []
        while (answer := self._next()) is not None:
            answers.append(answer)
        return answers

    def _next(self) -> Answer | None:
        while True:
            start = self._bytes.find(MARK)
            if start < 0:
                self._skip(len(self._bytes) - self._bytes.endswith(MARK[:1]))
                return None
            self._skip(start)
            head = self._bytes[len(MARK) : len(MARK) + HEAD.size]
            if len(head) < HEAD.size:
                return None
            command, sequence, length = HEAD.unpack(head)
            if length <= MAX_ANSWER_BYTES and command & ANSWER:
                break
            if length > MAX_ANSWER_BYTES:
                self.strange = max(self.strange, length)
            self._skip(len(MARK))
        end = len(MARK) + HEAD.size + length
        if len(self._bytes) < end + CRC.size:
            return None
        body, (crc,) = self._bytes[len(MARK) : end], CRC.unpack_from(self._bytes, end)
        if zlib.crc32(body) != crc:
            self._skip(len(MARK))
            return Answer(command & ~ANSWER, sequence, None)
        self._bytes = self._bytes[end + CRC.size :]
        return Answer(command & ~ANSWER, sequence, body[HEAD.size :])

    def _skip(self, count: int) -> None:
        self.skipped = (self.skipped + self._bytes[:count])[-64:]
        self._bytes = self._bytes[count:]
