"""A conversation with a board: one command at a time, repeated where the line damages it."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from tinyrt.board.frames import Answer, Reader, frame
from tinyrt.board.identity import Identity
from tinyrt.board.line import Line
from tinyrt.errors import ToolError
from tinyrt.export.board import MEANINGS, PAYLOAD_BYTES, Command, Fault

TRIES = 4
"""How often a command is sent whose answer arrives damaged, or that arrives damaged itself."""

DAMAGE = (Fault.BAD_CRC, Fault.TOO_LONG)
"""What a board says of frames that are not as they were sent."""

REFUSALS = tuple(bytes([fault]) for fault in DAMAGE)

SELFTEST_FIELDS = (
    *("status", "vector", "op", "op_expected", "op_found"),
    *("output", "byte", "expected", "found"),
)
"""The numbers that SELFTEST answers, in their order."""

SIGNED = ("status", "vector", "op", "output")


class Session:
    """Commands to a board and their answers.

    Args:
        line: what carries the bytes.
        answer_s: how long an answer may take, in seconds. A command that stays unanswered is sent
            once more, so that an error comes after twice that time.

    """

    def __init__(self, line: Line, answer_s: float) -> None:
        self._line = line
        self._answer_s = answer_s
        self._reader = Reader()
        self._sequence = 0
        self._others = 0
        self._heard = False

    def identify(self) -> Identity:
        """What the board says of itself; raises as ``ask`` and ``Identity.read``."""
        return Identity.read(self._line.name, self.ask(Command.IDENTIFY))

    def reset(self) -> None:
        """Have the model forget what it keeps between inferences; raises as ``ask``."""
        self.ask(Command.RESET, nbytes=0)

    def load(self, data: bytes, payload_bytes: int) -> None:
        """Write all inputs, at most ``payload_bytes`` to a frame; raises as ``ask``."""
        part = payload_bytes - 4
        for at in range(0, len(data), part):
            chunk = struct.pack("<I", at) + data[at : at + part]
            self.ask(Command.LOAD, chunk, nbytes=0)

    def run(self) -> int:
        """Run the model once; returns the ticks that it took, and raises as ``ask``."""
        status, ticks = struct.unpack("<iQ", self.ask(Command.RUN, nbytes=12))
        del status  # the model succeeded: another status comes with a fault
        return int(ticks)

    def outputs(self, nbytes: int, payload_bytes: int) -> bytes:
        """Read all outputs, of so many bytes; raises as ``ask``."""
        data = b""
        while len(data) < nbytes:
            count = min(nbytes - len(data), payload_bytes - 1)
            data += self.ask(Command.READ, struct.pack("<IH", len(data), count), nbytes=count)
        return data

    def selftest(self) -> dict[str, int]:
        """Run the project's self-test; returns ``SELFTEST_FIELDS``, and raises as ``ask``."""
        answer = self.ask(Command.SELFTEST, nbytes=4 * len(SELFTEST_FIELDS))
        numbers: Sequence[int] = struct.unpack(f"<{len(SELFTEST_FIELDS)}I", answer)
        fields = dict(zip(SELFTEST_FIELDS, numbers, strict=True))
        return {k: v - (1 << 32) if k in SIGNED and v >> 31 else v for k, v in fields.items()}

    def ask(self, command: Command, payload: bytes = b"", *, nbytes: int | None = None) -> bytes:
        """Send a command; returns its answer's payload behind the first byte.

        Args:
            command: what is asked.
            payload: its payload.
            nbytes: how long the answer has to be; None for any length.

        Raises:
            ToolError: the board is silent, answers too late, damaged, too short, what is no frame,
                or that something is wrong; or the line is gone.

        """
        self._sequence = (self._sequence + 1) % 256
        self._others = 0
        request = frame(command, self._sequence, payload)
        fault, unanswered = Fault.OK, 0
        for _ in range(TRIES):
            self._line.write(request)
            answer = self._await(command)
            if answer is None:
                unanswered += 1
                if unanswered == 2:
                    raise self._no_answer(command)
                # Zeros end a frame that the board may still wait for the end of.
                self._line.write(bytes(PAYLOAD_BYTES + 16))
                continue
            if answer.payload is None:
                fault = Fault.OK
                continue
            fault = self._fault(command, answer.payload)
            if fault not in DAMAGE:
                return self._checked(command, fault, answer.payload, nbytes)
        raise self._damaged(command, fault)

    def _await(self, command: Command) -> Answer | None:
        """The answer to the last command, or one that is damaged; None where time runs out."""
        end = time.monotonic() + self._answer_s
        while time.monotonic() < end:
            for answer in self._reader.take(self._line.read()):
                is_own = (answer.command, answer.sequence) == (command, self._sequence)
                if is_own or answer.payload is None or answer.payload[:1] in REFUSALS:
                    self._heard = self._heard or answer.payload is not None
                    return answer
                self._others += 1
        return None

    def _fault(self, command: Command, payload: bytes) -> Fault:
        if not payload or payload[0] not in set(Fault):
            raise ToolError(
                f"the board at {self._line.name} answers {command.name} with "
                + (f"fault {payload[0]}" if payload else "nothing in it"),
                expected=f"a fault from 0 to {max(Fault)}",
                hint="use NAME_board.c as it was exported, or export it again",
            )
        return Fault(payload[0])

    def _checked(self, command: Command, fault: Fault, payload: bytes, nbytes: int | None) -> bytes:
        """The payload of an answer that is there as a whole; refuses faults and other lengths."""
        if fault is Fault.MODEL_FAILED and len(payload) >= 5:
            (status,) = struct.unpack_from("<i", payload, 1)
            raise ToolError(
                f"the model on the board at {self._line.name} returned status {status}",
                expected="0, TINYRT_OK",
                hint="look it up in tinyrt/tinyrt_types.h; 1 and 2 speak of the arena's address",
            )
        if fault is not Fault.OK:
            raise ToolError(
                f"the board at {self._line.name} refuses {command.name}: {fault.name}, "
                f"{MEANINGS[fault]}",
                expected="a firmware that was built from one export",
                hint="export the model again with --board, build and flash the firmware",
            )
        if nbytes is not None and len(payload) - 1 != nbytes:
            raise ToolError(
                f"the board at {self._line.name} answers {command.name} with {len(payload) - 1} "
                "bytes",
                expected=f"{nbytes} bytes",
                hint="use NAME_board.c as it was exported, or export it again",
            )
        return payload[1:]

    def _damaged(self, command: Command, fault: Fault) -> ToolError:
        name = self._line.name
        if fault in DAMAGE:
            return ToolError(
                f"the board at {name} gets damaged frames: {command.name}, sent {TRIES} times, "
                "never had its CRC",
                expected="bytes that arrive as they are sent",
                hint="have the UART's interrupt put bytes into a queue, so that none is lost while "
                "the board computes; or lower the baud rate on both ends",
            )
        return ToolError(
            f"answers from {name} arrive damaged: that to {command.name}, asked for {TRIES} times, "
            "never had its CRC",
            expected="bytes that arrive as they are sent",
            hint="lower the baud rate on both ends, try another cable, and see that nothing else "
            "prints to this port",
        )

    def _no_answer(self, command: Command) -> ToolError:
        name, twice = self._line.name, 2 * self._answer_s
        skipped = self._reader.skipped
        if self._others:
            return ToolError(
                f"the board at {name} answers too late: within {twice:g} seconds, there were "
                f"answers to other commands than {command.name}",
                expected=f"each answer within {self._answer_s:g} seconds",
                hint="allow more with --timeout",
            )
        if self._heard:
            return ToolError(
                f"the board at {name} answered before, and not to {command.name}, within "
                f"{twice:g} seconds",
                expected=f"each answer within {self._answer_s:g} seconds",
                hint="allow more with --timeout; if that does not help, it hangs or has reset: "
                "stop it in a debugger",
            )
        if self._reader.strange:
            return ToolError(
                f"{name} sends a frame of {self._reader.strange:,} bytes",
                expected=f"at most {PAYLOAD_BYTES}",
                hint="use NAME_board.c as it was exported, or export it again",
            )
        if skipped:
            return ToolError(
                f"{name} sends bytes that are no frames, at last {skipped[-16:]!r}",
                expected="an answer of a firmware with NAME_board",
                hint="set --baud to what the board's UART is set to, and look whether this is the "
                "right port",
            )
        return ToolError(
            f"{name} is silent: {command.name} had no answer within {twice:g} seconds",
            expected="an answer of a firmware with NAME_board",
            hint="look at power, at the port, at --baud, at RX and TX (they cross), and whether "
            "the main loop hands bytes to NAME_board_take",
        )
