"""What a board says of itself, and whether it is the model that it should be."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from tinyrt import __version__
from tinyrt.errors import ToolError
from tinyrt.export.board import PROTOCOL

_LAYOUT = struct.Struct("<BBB7I32s")
MIN_PAYLOAD = 16
"""A payload that is shorter holds no useful part of an input."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The answer to IDENTIFY.

    Attributes:
        has_selftest: whether the command SELFTEST is there.
        payload_bytes: most bytes of a payload.
        input_bytes: of all inputs, as the port holds them.
        output_bytes: of all outputs.
        arena_bytes: the model's working memory.
        state_bytes: what it keeps between inferences.
        ticks_per_second: of the board's clock; 0 where it is not known.
        export: the identity of the export, eight hexadecimal digits.
        model_sha256: of the model's file, in hexadecimal; zeros for a model without one.
        tinyrt_version: of the export.

    """

    has_selftest: bool
    payload_bytes: int
    input_bytes: int
    output_bytes: int
    arena_bytes: int
    state_bytes: int
    ticks_per_second: int
    export: str
    model_sha256: str
    tinyrt_version: str

    @classmethod
    def read(cls, port: str, payload: bytes) -> Identity:
        """The identity from an answer's payload behind its first byte.

        Args:
            port: what messages call the line.
            payload: the bytes.

        Raises:
            ToolError: the board speaks another version of the protocol, or none.

        """
        if payload and payload[0] != PROTOCOL:
            raise ToolError(
                f"the board at {port} speaks version {payload[0]} of the protocol",
                expected=f"version {PROTOCOL}, which this tinyrt ({__version__}) speaks",
                hint="export the model again with this tinyrt, build and flash the firmware",
            )
        if len(payload) < _LAYOUT.size:
            raise _wrong(port, f"{len(payload)} bytes", f"at least {_LAYOUT.size} bytes")
        _, selftest, _, *numbers, digest = _LAYOUT.unpack_from(payload)
        version = payload[_LAYOUT.size :].decode("ascii", "replace")
        if numbers[0] < MIN_PAYLOAD:
            raise _wrong(port, f"payloads of at most {numbers[0]} bytes", f"{MIN_PAYLOAD} or more")
        return cls(
            has_selftest=bool(selftest),
            payload_bytes=numbers[0],
            input_bytes=numbers[1],
            output_bytes=numbers[2],
            arena_bytes=numbers[3],
            state_bytes=numbers[4],
            ticks_per_second=numbers[5],
            export=f"{numbers[6]:08x}",
            model_sha256=digest.hex(),
            tinyrt_version=version,
        )

    def check(self, port: str, sha256: str, input_bytes: int, output_bytes: int) -> None:
        """Refuse another model or another build than the one that is meant.

        Args:
            port: what messages call the line.
            sha256: of the model's file.
            input_bytes: of all inputs, as the port should hold them.
            output_bytes: of all outputs.

        Raises:
            ToolError: it is another one.

        """
        if self.model_sha256 != sha256:
            none = not int(self.model_sha256, 16)
            raise ToolError(
                f"the board at {port} runs "
                + ("a model without a file" if none else f"another model, {self.model_sha256}"),
                expected=f"the model with SHA-256 {sha256}",
                hint="name the model that was exported, or export this one with --board, build and "
                "flash the firmware",
            )
        if self.tinyrt_version != __version__:
            raise ToolError(
                f"the board at {port} runs this model as tinyrt {self.tinyrt_version} exported it",
                expected=f"an export of tinyrt {__version__}, which answers here",
                hint="export the model again and flash the firmware, or compare with the tinyrt "
                "that exported it",
            )
        sizes = (self.input_bytes, self.output_bytes)
        if sizes != (input_bytes, output_bytes):
            raise ToolError(
                f"the board at {port} holds inputs of {sizes[0]:,} bytes, outputs of {sizes[1]:,}",
                expected=f"{input_bytes:,} and {output_bytes:,} bytes, as the model has them",
                hint="build the firmware anew from one export: its sources are of several",
            )

    def as_dict(self) -> dict[str, Any]:
        """The identity as plain data, for ``--json``."""
        return {
            "export": self.export,
            "model_sha256": self.model_sha256,
            "tinyrt_version": self.tinyrt_version,
            "arena_bytes": self.arena_bytes,
            "state_bytes": self.state_bytes,
            "ticks_per_second": self.ticks_per_second or None,
            "selftest": self.has_selftest,
        }


def _wrong(port: str, what: str, expected: str) -> ToolError:
    return ToolError(
        f"the board at {port} answers IDENTIFY with {what}",
        expected=f"{expected}, as the exported protocol answers",
        hint="use NAME_board.c as it was exported, or export it again",
    )
