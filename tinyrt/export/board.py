"""The protocols by which a host runs an exported model on a board, over a serial port.

The host's side of the frames is ``tinyrt.board``; both sides take commands and faults from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Any

from tinyrt.errors import UnsupportedError
from tinyrt.export.ports import Port
from tinyrt.export.rendering import TEMPLATES, CFile, Source, render_c
from tinyrt.ir import DType

PROTOCOL = 1
"""Version of the frames."""

PAYLOAD_BYTES = 256
"""Most bytes of a frame's payload."""

ALIGNMENT = 8
"""Where inputs and outputs may begin in the port's memory: at multiples of it."""


class Command(IntEnum):
    """What a frame asks for; an answer's number is higher by 128."""

    IDENTIFY = 1
    LOAD = 2
    RUN = 3
    READ = 4
    RESET = 5
    SELFTEST = 6


class Fault(IntEnum):
    """The first byte of an answer."""

    OK = 0
    BAD_CRC = 1
    TOO_LONG = 2
    UNKNOWN_COMMAND = 3
    BAD_LENGTH = 4
    OUT_OF_RANGE = 5
    NOTHING_LOADED = 6
    NOTHING_RUN = 7
    MODEL_FAILED = 8


MEANINGS: dict[Command | Fault, str] = {
    Command.IDENTIFY: "nothing -> who the board is, see the documentation",
    Command.LOAD: "32 bits: where to in the inputs; bytes -> nothing",
    Command.RUN: "nothing -> the model's status, 32 bits; ticks, 64 bits",
    Command.READ: "32 bits: where from in the outputs; 16 bits: how many -> these bytes",
    Command.RESET: "nothing -> nothing; the model forgets what it keeps between inferences",
    Command.SELFTEST: "nothing -> 32 bits each: status, and the members of the test's result",
    Fault.OK: "done",
    Fault.BAD_CRC: "the frame was damaged on its way",
    Fault.TOO_LONG: "the payload is longer than any may be",
    Fault.UNKNOWN_COMMAND: "there is no such command in this build",
    Fault.BAD_LENGTH: "the payload has not the command's length",
    Fault.OUT_OF_RANGE: "these bytes lie outside of the inputs or outputs, or are too many at once",
    Fault.NOTHING_LOADED: "RUN before any LOAD",
    Fault.NOTHING_RUN: "READ before any RUN that succeeded",
    Fault.MODEL_FAILED: "the model returned an error: its status stands behind this byte",
}
"""What each says, in the exported header: payload -> the answer's behind its first byte."""


@dataclass(frozen=True, slots=True)
class Places:
    """Tensors, one after the other.

    Attributes:
        offsets: where each begins.
        nbytes: up to the end of the last one.

    """

    offsets: tuple[int, ...]
    nbytes: int

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Places:
        """The places of tensors of these sizes, in bytes."""
        offsets, end = [], 0
        for nbytes in sizes:
            offsets.append(-(-end // ALIGNMENT) * ALIGNMENT)
            end = offsets[-1] + nbytes
        return cls(tuple(offsets), end)


@dataclass(frozen=True, slots=True)
class BoardPort:
    """What a project brings along for a serial port.

    Attributes:
        protocol: version of the frames.
        input_bytes: of all inputs, as the port holds them.
        output_bytes: of all outputs.

    """

    protocol: int
    input_bytes: int
    output_bytes: int

    def __str__(self) -> str:
        return (
            f"protocol {self.protocol}, inputs {self.input_bytes:,} bytes, "
            f"outputs {self.output_bytes:,}"
        )

    def as_dict(self) -> dict[str, int]:
        """The port as plain data, for ``--json``."""
        return {
            "protocol": self.protocol,
            "input_bytes": self.input_bytes,
            "output_bytes": self.output_bytes,
        }


def write_board(
    prefix: str, context: Mapping[str, Any], model_sha256: str | None, *, selftest: bool
) -> tuple[BoardPort, dict[str, CFile]]:
    """The header and the source of ``<prefix>_board``.

    Args:
        prefix: the model's name in C.
        context: what the templates of the model's own files are filled in with.
        model_sha256: of the model's file; None for a model without one.
        selftest: whether the project has ``<prefix>_selftest``.

    Raises:
        UnsupportedError: an output's scale is too large to print its values.

    """
    inputs, outputs = (
        Places.of([port.nbytes for port in context[kind]]) for kind in ("inputs", "outputs")
    )
    printed = [_printed(port) for port in context["outputs"]]
    filled = context["states"].fills
    own = {
        "protocol": PROTOCOL,
        "payload_bytes": PAYLOAD_BYTES,
        "port_alignment": ALIGNMENT,
        "input_places": inputs,
        "output_places": outputs,
        "commands": [(c, MEANINGS[c]) for c in Command if selftest or c is not Command.SELFTEST],
        "faults": [(fault, MEANINGS[fault]) for fault in Fault],
        "sha256_bytes": Source(", ".join(map(str, bytes.fromhex(model_sha256 or "00" * 32)))),
        "state_bytes": context["states"].nbytes,
        "arena_name": Source("arena_start" if len(context["regions"]) == 1 else "arena"),
        "arguments": Source("board->arena" + (", board->state" if filled else "")),
        "selftest": selftest,
        "printed": printed,
        "steps": [
            _step(port) if how == "scaled" else None
            for port, how in zip(context["outputs"], printed, strict=True)
        ],
    }
    files = {
        f"{prefix}_board{end}": render_c(TEMPLATES, f"board{end}.j2", {**context, **own})
        for end in (".h", ".c")
    }
    return BoardPort(PROTOCOL, inputs.nbytes, outputs.nbytes), files


def _printed(port: Port) -> str:
    """How text shows the values of an output."""
    if port.dtype is DType.FLOAT32:
        return "float"
    if port.scale is not None and port.dtype in (DType.INT8, DType.UINT8, DType.INT16):
        return "scaled"
    return "integer" if port.dtype.numpy.kind == "i" else "unsigned"


def _step(port: Port) -> Source:
    """One step of an output in thousandths, exactly: ``multiplier * 2**-shift`` as arguments in C.

    Values lie within 2**17 steps, and 2**17 multipliers within 64 bits. Steps so small that their
    shift exceeds 63 are zero thousandths anyway.
    """
    step = Fraction(port.scale or 0.0) * 1000
    if step >= 1 << 45:
        raise UnsupportedError(
            f"an output's scale is {port.scale:g}: a port prints values below 2**62",
            tensor=f"'{port.name}'",
            expected="a scale below 3.5e10",
            hint="leave --board out, or quantise the model with other data",
        )
    multiplier, shift = step.numerator, step.denominator.bit_length() - 1
    return Source(f"{multiplier}U, {shift}U")
