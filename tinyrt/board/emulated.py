"""A user's own firmware in QEMU, whose serial port speaks the protocol."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from tinyrt.board.line import MAX_READ, READ_S
from tinyrt.emulate import toolchain
from tinyrt.emulate.boards import ARM_QEMU, BOARDS, RISCV_QEMU
from tinyrt.errors import DataError, ToolError
from tinyrt.signals import held
from tinyrt.tools import kill, last_lines

MACHINES = {40: (ARM_QEMU, "mps2-an386"), 243: (RISCV_QEMU, "virt")}
"""Processor of an ELF file (``e_machine``) -> emulator, and its machine where none is named."""

_HEADER_BYTES = 20
_EMULATORS = ", ".join(qemu for qemu, _ in MACHINES.values())


class EmulatedLine:
    """The first serial port of an emulated machine: QEMU's standard input and output.

    Args:
        command: the emulator and its arguments.
        name: what messages call the line.
        words: an open file for what it writes to standard error.

    """

    def __init__(self, command: Sequence[str], name: str, words: IO[bytes]) -> None:
        self.name = name
        self._words = words
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            bufsize=0,
            start_new_session=True,
        )
        self._selector = selectors.DefaultSelector()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._selector.register(self._out, selectors.EVENT_READ)

    def __enter__(self) -> EmulatedLine:
        """The line itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the emulator and all that it started."""
        kill(self._process)
        self._selector.close()
        for file in (self._in, self._out):
            file.close()

    def write(self, data: bytes) -> None:
        """Send all these bytes."""
        try:
            self._in.write(data)
        except OSError as error:
            raise self._ended() from error

    def read(self) -> bytes:
        """What has arrived, after at most ``READ_S`` seconds."""
        if not self._selector.select(READ_S):
            return b""
        data = os.read(self._out.fileno(), MAX_READ)
        if not data:
            raise self._ended()
        return data

    def _ended(self) -> ToolError:
        status = self._process.wait()
        self._words.seek(0)
        words = last_lines(self._words.read().decode(errors="replace"))
        return ToolError(
            f"{self.name} ended in the middle of the conversation (status {status})"
            + (f"; its last words:\n{words}" if words else ""),
            expected="a firmware that goes on for ever",
            hint="see that the machine is the one that the firmware was linked for",
        )


@contextmanager
def emulated_port(elf: str | Path, machine: str | None) -> Iterator[EmulatedLine]:
    """Boot a firmware; its first serial port is the line.

    One instruction takes one nanosecond of the machine's time (``-icount shift=0``).

    Args:
        elf: the firmware.
        machine: QEMU's name of the machine; that of the processor's usual one by default.

    Raises:
        DataError: the file is no firmware of a processor that can be emulated.
        ToolError: the emulator is missing.

    """
    path = Path(elf)
    qemu, usual = MACHINES[_processor(path)]
    toolchain.require(qemu)
    name = machine or usual
    options = BOARDS[name].options if name in BOARDS else ()
    command = [
        *(qemu, "-M", name, *options, "-icount", "shift=0"),
        *("-display", "none", "-monitor", "none", "-serial", "stdio"),
        *("-semihosting-config", "enable=on,target=native", "-kernel", str(path.resolve())),
    ]
    with tempfile.TemporaryFile() as words, ExitStack() as ending:
        with held():
            line = ending.enter_context(EmulatedLine(command, f"{name} in QEMU", words))
        yield line


def _processor(path: Path) -> int:
    """The processor that an ELF file is for."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise DataError(
            f"cannot read the firmware: {error.strerror}",
            file=str(path),
            expected="an ELF file, as the linker writes it",
        ) from error
    number = int.from_bytes(header[18:], "little")
    if header[:6] != b"\x7fELF\x01\x01" or number not in MACHINES:
        raise DataError(
            "this is no firmware that can be emulated",
            file=str(path),
            expected=f"an ELF file of 32 bits for {_EMULATORS}",
            hint="name the file that the linker writes, and not a .bin or .hex made from it",
        )
    return number
