"""Boards that QEMU emulates, and which of them runs which core."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Board:
    """One emulated board.

    Attributes:
        name: QEMU's name of the machine.
        flash_origin: where the image is loaded and the vector table lies.
        flash_bytes: size of that memory.
        ram_origin: where stack, arena and variables lie.
        ram_bytes: size of that memory.
        stack_bytes: how much of it is stack.

    """

    name: str
    flash_origin: int
    flash_bytes: int
    ram_origin: int
    ram_bytes: int
    stack_bytes: int = 16 * 1024


_MEBI = 1 << 20
_AN385 = Board("mps2-an385", 0x0000_0000, 4 * _MEBI, 0x2000_0000, 4 * _MEBI)
_AN386 = Board("mps2-an386", 0x0000_0000, 4 * _MEBI, 0x2000_0000, 4 * _MEBI)
_AN500 = Board("mps2-an500", 0x0000_0000, 4 * _MEBI, 0x2000_0000, 4 * _MEBI)
_AN505 = Board("mps2-an505", 0x1000_0000, 4 * _MEBI, 0x3800_0000, 4 * _MEBI)
_AN547 = Board("mps3-an547", 0x0000_0000, _MEBI // 2, 0x2000_0000, _MEBI // 2)

BOARDS: dict[str, Board] = {
    "cortex-m0": _AN385,  # an M3, which executes M0 code as it is
    "cortex-m3": _AN385,
    "cortex-m4": _AN386,
    "cortex-m7": _AN500,
    "cortex-m33": _AN505,
    "cortex-m55": _AN547,
}
"""Core name -> the board that stands in for it."""
