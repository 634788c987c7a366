"""What emulation found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Flash:
    """Bytes in flash: ``code`` is all that the model needs there but its ``weights``."""

    code: int
    weights: int


@dataclass(frozen=True, slots=True)
class Ram:
    """Bytes in RAM: the arena, the stack that an inference uses, and variables besides."""

    arena: int
    stack: int
    static: int


@dataclass(frozen=True, slots=True)
class EmulationReport:
    """One model on one emulated core.

    Attributes:
        core: the core it was built for.
        board: the board it ran on.
        samples: how many inputs were run.
        instructions: per inference, repeatable and exact to one.
        instructions_per_mac: None for a model without multiplications.
        flash: bytes.
        ram: bytes.
        bit_exact: whether all outputs equal the expected ones; None if none were given.
        outputs: output name -> the device's answers, samples first.

    """

    core: str
    board: str
    samples: int
    instructions: int
    instructions_per_mac: float | None
    flash: Flash
    ram: Ram
    bit_exact: bool | None
    outputs: Mapping[str, NDArray[Any]]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for ``--json``."""
        return {
            "core": self.core,
            "board": self.board,
            "samples": self.samples,
            "instructions": self.instructions,
            "instructions_per_mac": self.instructions_per_mac,
            "flash": {"code": self.flash.code, "weights": self.flash.weights},
            "ram": {
                "arena": self.ram.arena,
                "stack": self.ram.stack,
                "static": self.ram.static,
            },
            "bit_exact": self.bit_exact,
            "outputs": {name: array.tolist() for name, array in self.outputs.items()},
        }
