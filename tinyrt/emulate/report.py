"""The report of an emulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from numpy.typing import NDArray

from tinyrt.emulate.cycles import CycleReport
from tinyrt.emulate.profile import OpCost
from tinyrt.emulate.sizes import Sizes
from tinyrt.export.slices import Slices

FLOAT_TOLERANCE = 1e-4
"""Part of a float output's largest element by which the device may be off."""


@dataclass(frozen=True, slots=True)
class Ram:
    """Bytes in RAM.

    Attributes:
        arena: the model's working memory.
        stack: the most that an inference used; None where it is not measured.
        stack_bound: the bound for any inference, from the compiler's figures; None where the
            compiler gives none.
        static: other variables.
        state: the model's state from one inference to the next.

    """

    arena: int
    stack: int | None
    stack_bound: int | None
    static: int
    state: int = 0


@dataclass(frozen=True, slots=True)
class SlicesRun:
    """An inference that ran slice by slice.

    Attributes:
        plan: how it was cut.
        instructions: of every slice in their order; None on this machine.

    """

    plan: Slices
    instructions: tuple[int, ...] | None

    @property
    def longest(self) -> int | None:
        """Instructions of the longest slice, as counted."""
        return max(self.instructions) if self.instructions else None

    @property
    def longest_ops(self) -> tuple[int, ...]:
        """The ops of the longest slice, as counted, or as estimated where nothing is."""
        if not self.instructions:
            return self.plan.longest.nodes
        at = self.instructions.index(max(self.instructions))
        return self.plan.in_order()[at].nodes

    def as_dict(self) -> dict[str, Any]:
        """The slices as plain data, for ``--json``; ``longest`` is as counted."""
        names = [self.plan.names[i] for i in self.longest_ops]
        longest = {"instructions": self.longest, "ops": list(self.longest_ops), "names": names}
        return self.plan.as_dict() | {
            "estimated": self.plan.longest.instructions,
            "longest": longest,
        }


@dataclass(frozen=True, slots=True)
class EmulationReport:
    """One model on one emulated core.

    Attributes:
        core: the core it was built for.
        board: the board it ran on; None for this machine.
        samples: how many inputs were run.
        instructions: per inference, repeatable and exact to one; None on this machine.
        instructions_per_mac: None for a model without multiplications, too.
        flash: bytes by part.
        ram: bytes.
        bit_exact: whether all outputs equal the expected ones; None if none were given.
        float_error: greatest difference of float outputs, as a part of the output's largest
            element; infinite where an integer, a NaN or an infinity differs. None where there are
            none, or nothing was expected.
        filter_bytes: of ``flash.weights``, the weights of convolutions and dense layers; the
            others are biases, mantissas and constants.
        outputs: output name -> the device's answers, samples first.
        baseline: instructions per inference of TFLM with CMSIS-NN, where they are known.
        ops: what every op costs; None unless it was asked for.
        row_by_row: the ops that run so, as ``first-last`` of each segment.
        slices: what the inference was cut into; None where it ran in one go.
        cycles: of an inference; None unless they were asked for.

    """

    core: str
    board: str | None
    samples: int
    instructions: int | None
    instructions_per_mac: float | None
    flash: Sizes
    ram: Ram
    bit_exact: bool | None
    outputs: Mapping[str, NDArray[Any]]
    baseline: int | None = None
    ops: tuple[OpCost, ...] | None = None
    float_error: float | None = None
    filter_bytes: int = 0
    row_by_row: tuple[str, ...] = ()
    slices: SlicesRun | None = None
    cycles: CycleReport | None = None

    @property
    def agrees(self) -> bool:
        """Whether the device answered what was expected: floats nearly, all others exactly.

        The order of float sums and the last bits of exp and its kin are not the host's.
        """
        near = self.float_error is not None and self.float_error <= FLOAT_TOLERANCE
        return bool(self.bit_exact) or near

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for ``--json``."""
        flash = self.flash
        fields: dict[str, Any] = {
            "core": self.core,
            "board": self.board,
            "samples": self.samples,
            "instructions": self.instructions,
            "instructions_per_mac": self.instructions_per_mac,
            "baseline": self.baseline,
            "flash": {
                "code": flash.code,
                "weights": flash.weights,
                "filters": self.filter_bytes,
                "parts": {
                    "kernels": flash.kernels,
                    "model": flash.model,
                    "tables": flash.tables,
                    "library": flash.library,
                },
                "harness": flash.harness,
            },
            "ram": asdict(self.ram),
            "row_by_row": list(self.row_by_row),
            "bit_exact": self.bit_exact,
            "float_error": self.float_error,
        }
        if self.cycles is not None:
            fields |= self.cycles.as_dict()
        if self.slices is not None:
            fields["slices"] = self.slices.as_dict()
        if self.ops is not None:
            fields["ops"] = [op.as_dict() for op in self.ops]
        fields["outputs"] = {name: array.tolist() for name, array in self.outputs.items()}
        return fields

    def _repr_html_(self) -> str:
        """The main figures as a table, as notebooks show what a cell answers."""
        equal = {True: "yes", False: "no", None: None}[self.bit_exact]
        figures: dict[str, str | int | None] = {
            "core": self.core,
            "samples": self.samples,
            "equal to the host": equal,
            "instructions per inference": self.instructions,
            "flash, code bytes": self.flash.code,
            "flash, weight bytes": self.flash.weights,
            "arena bytes": self.ram.arena,
            "stack bytes": self.ram.stack,
        }
        rows = (
            f"<tr><th>{name}</th><td>{_shown(each)}</td></tr>" for name, each in figures.items()
        )
        return f"<table>{''.join(rows)}</table>"


def _shown(value: str | int | None) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return value or "–"
