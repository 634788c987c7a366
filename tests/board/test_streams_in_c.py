"""Whatever arrives at an exported port: it writes nothing beside itself, and always recovers.

The port lies on the heap, as large as it is, in a program under AddressSanitizer and UBSan.
"""

import re
import struct

import numpy as np
import pytest

from tests.board.host import answered, build
from tests.export.models import dense
from tests.sampling import sampled
from tinyrt.board.frames import Reader, frame
from tinyrt.export import ExportOptions, export_graph
from tinyrt.export.board import PAYLOAD_BYTES, Command, Fault

STREAMS = sampled(1000, 60_000)
RESYNC = bytes(PAYLOAD_BYTES + 16)
"""Ends whatever frame the port may be in."""

TEXTS = (
    *(b"name%", b"timestamp%", b"profile%", b"help%", b"results%", b"db load 4%", b"db 01020304%"),
    *(b"db print%", b"db print 2 1%", b"infer 1 0%", b"infer 2%", b"db%", b"%", b"x" * 300 + b"%"),
)


def valid(rng):
    """A frame or a text command as a host may send it."""
    n = int(rng.integers(0, 256))
    frames = (
        frame(Command.IDENTIFY, n),
        frame(Command.LOAD, n, struct.pack("<I", rng.integers(0, 6)) + rng.bytes(rng.integers(5))),
        frame(Command.LOAD, n, rng.bytes(rng.integers(0, 300))),
        frame(Command.RUN, n),
        frame(Command.READ, n, struct.pack("<IH", *rng.integers(0, 4, 2))),
        frame(Command.RESET, n),
        frame(int(rng.integers(0, 256)), n, rng.bytes(rng.integers(0, PAYLOAD_BYTES + 1))),
        b"\xa5\x5a" + rng.bytes(rng.integers(0, 20)),
    )
    return (*frames, *TEXTS)[int(rng.integers(len(frames) + len(TEXTS)))]


def mutated(rng, data):
    """With bytes changed, lost, put in twice, or put in."""
    data = bytearray(data)
    for _ in range(int(rng.integers(0, 4))):
        at = int(rng.integers(0, len(data) + 1))
        kind = int(rng.integers(4))
        if kind == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 5))]
        elif kind == 2:
            data[at:at] = data[at : at + int(rng.integers(1, 9))]
        else:
            data[at:at] = rng.bytes(rng.integers(1, 5))
    # Numbers stay small: a million inferences are nothing that is to be tried.
    return re.sub(rb"[0-9]{3,}", b"9", bytes(data)) if data[:5] == b"infer" else bytes(data)


def streams(rng, count):
    """Random bytes, valid commands, and mutated ones, some of each in a row."""
    for _ in range(count):
        if rng.integers(3) == 0:
            yield rng.bytes(rng.integers(0, 80))
        else:
            yield b"".join(mutated(rng, valid(rng)) for _ in range(int(rng.integers(1, 5))))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dense")
    return build(
        export_graph(dense(), folder / "model", core="host", options=ExportOptions(board=True)),
        folder,
    )


def test_it_recovers_from_any_stream(program):
    rng = np.random.default_rng(2026)
    data, expected = b"", []
    for i, stream in enumerate(streams(rng, STREAMS)):
        # Its number tells each stream's own answer from all others.
        payload = struct.pack("<I", 0) + struct.pack("<I", i)
        probe = [
            frame(Command.LOAD, i % 256, payload),
            frame(Command.RUN, (i + 1) % 256),
            frame(Command.READ, (i + 2) % 256, struct.pack("<IH", 0, 2)),
        ]
        data += stream + RESYNC + b"".join(probe) + b"name%"
        expected.append([(Command.LOAD, i % 256), (Command.RUN, (i + 1) % 256)])
    written = answered(program, data, 1000)
    parts = written.split(b"m-name-dut-[net]\r\nm-ready\r\n")
    found = [_probed(part) for part in parts if _probed(part) is not None]
    assert [[a[:2] for a in answers[:2]] for answers in found] == expected
    assert all(fault is Fault.OK for answers in found for _, _, fault in answers)


def _probed(part):
    """Command, number and fault of the last three answers of a part, if they are a probe's."""
    answers = [(a.command, a.sequence, Fault(a.payload[0])) for a in Reader().take(part)][-3:]
    commands = [command for command, *_ in answers]
    return answers if commands == [Command.LOAD, Command.RUN, Command.READ] else None


def test_garbage_before_a_mark_is_skipped(program):
    for garbage in (b"", b"\xa5", b"\xa5\xa5", b"\x00\xff\x5a", b"m-ready\r\n", b"\xa5name"):
        (answer,) = Reader().take(answered(program, garbage + frame(Command.RESET, 9)))
        assert (answer.command, answer.sequence, answer.payload) == (Command.RESET, 9, b"\0")


def test_a_lost_byte_costs_one_frame_and_zeros_bring_the_next(program):
    whole = frame(Command.LOAD, 1, b"\0\0\0\0abcd")
    for lost in range(len(whole)):
        cut = whole[:lost] + whole[lost + 1 :]
        data = answered(program, cut + RESYNC + frame(Command.RESET, 2))
        *others, last = Reader().take(data)
        assert (last.command, last.sequence, last.payload) == (Command.RESET, 2, b"\0")
        # A mark without its first byte is garbage; all else is a frame that is damaged.
        faults = [Fault(a.payload[0]) for a in others]
        assert faults == [] if lost < 2 else faults in ([Fault.BAD_CRC], [Fault.TOO_LONG]), lost
