"""Boards that QEMU emulates, and which of them runs which core."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyrt.errors import UnsupportedError
from tinyrt.export import Core
from tinyrt.text import closest

ARM_QEMU, RISCV_QEMU = "qemu-system-arm", "qemu-system-riscv32"


@dataclass(frozen=True, slots=True)
class Board:
    """One emulated board.

    Attributes:
        name: QEMU's name of the machine.
        cores: names of the cores whose code it runs.
        flash_origin: where the image is loaded and execution starts.
        flash_bytes: size of that memory.
        ram_origin: where stack, arena and variables lie.
        ram_bytes: size of that memory.
        stack_bytes: how much of it is stack.
        guard_bytes: inaccessible memory below the stack; 0 where the board has no protection
            unit, or where nothing lies below its RAM.
        machine: folder of the harness's start-up code and clock.
        qemu: the emulator's program.
        options: further options of the emulator.

    """

    name: str
    cores: tuple[str, ...]
    flash_origin: int
    flash_bytes: int
    ram_origin: int
    ram_bytes: int
    stack_bytes: int = 16 * 1024
    guard_bytes: int = 4096
    machine: str = "arm"
    qemu: str = ARM_QEMU
    options: tuple[str, ...] = ()


_KIBI, _MEBI = 1 << 10, 1 << 20
_V6M = ("cortex-m0", "cortex-m0plus")
_V7M = (*_V6M, "cortex-m3")
_V7EM = (*_V7M, "cortex-m4")

BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        Board("mps2-an385", _V7M, 0x0000_0000, 4 * _MEBI, 0x2000_0000, 4 * _MEBI),
        Board("mps2-an386", _V7EM, 0x0000_0000, 4 * _MEBI, 0x2000_0000, 4 * _MEBI),
        Board("mps2-an500", (*_V7EM, "cortex-m7"), 0x0000_0000, 4 * _MEBI, 0x2000_0000, 4 * _MEBI),
        Board(
            "mps2-an505",
            ("cortex-m23", "cortex-m33"),
            *(0x1000_0000, 4 * _MEBI, 0x3800_0000, 4 * _MEBI),
        ),
        Board(
            "mps3-an547",
            ("cortex-m23", "cortex-m33", "cortex-m55", "cortex-m85"),
            *(0x0000_0000, _MEBI // 2, 0x2000_0000, _MEBI // 2),
        ),
        Board(
            "microbit",
            ("cortex-m0",),
            *(0x0000_0000, 256 * _KIBI, 0x2000_0000, 16 * _KIBI),
            stack_bytes=2 * _KIBI,
            guard_bytes=0,
        ),
        Board(
            "virt",
            ("rv32imc", "rv32imcb", "rv32imcv"),
            *(0x8000_0000, 8 * _MEBI, 0x8080_0000, 8 * _MEBI),
            machine="riscv",
            qemu=RISCV_QEMU,
            options=("-bios", "none"),
        ),
    )
}
"""Board name -> board. A core's first board is the one that stands in for it."""


def find_board(core: Core, name: str | None = None) -> Board:
    """The board of that name, or the one that stands in for the core, with the core's processor.

    Raises:
        UnsupportedError: there is no such board, or it does not run the core's code.

    """
    able = [_with_core(board, core) for board in BOARDS.values() if core.name in board.cores]
    if name is None and able:
        return able[0]
    for board in able:
        if board.name == name:
            return board
    if name is not None and name not in BOARDS:
        raise UnsupportedError(
            f"there is no board '{name}'", expected=", ".join(BOARDS), hint=closest(name, BOARDS)
        )
    raise UnsupportedError(
        f"board {name} does not run code for {core.name}"
        if name
        else f"there is no board that runs code for {core.name}",
        expected=", ".join(board.name for board in able) or "no board: it is this machine",
        hint="leave --board out to take the core's own board",
    )


def _with_core(board: Board, core: Core) -> Board:
    if not core.processor:
        return board
    return replace(board, options=(*board.options, "-cpu", core.processor))


def board_for(core: Core, name: str | None) -> Board | None:
    """As ``find_board``; None for this machine's own core, where no board is named."""
    return find_board(core, name) if name or core.prefix else None
