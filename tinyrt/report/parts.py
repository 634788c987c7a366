"""Microcontrollers that are on sale, and which of them a model fits on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from tinyrt.export import find_core
from tinyrt.report.facts import CoreFacts

KIBI = 1024


@dataclass(frozen=True, slots=True)
class Part:
    """A microcontroller.

    Attributes:
        name: its maker's name for it.
        maker: who makes it.
        core: its processor core, as tinyrt calls it.
        mhz: its highest clock.
        flash_kib: its flash that programs may fill; None where they lie in memory outside of it.
        ram_kib: its RAM, all banks together: tightly coupled memory counts, backup memory and what
            a second core keeps for itself do not.
        source: where these figures were read: maps of memories that are made from the maker's
            device pack, descriptions of boards, or documents of the maker.

    """

    name: str
    maker: str
    core: str
    mhz: int
    flash_kib: int | None
    ram_kib: int
    source: str


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a model fits on a part.

    Attributes:
        part: the part.
        core: the core whose figures were taken; None where the report has none that says it.
        lacks: what there is too little of: ``flash``, ``RAM``, both or none.
        flash: share of the part's flash that the model takes; None where it is not known.
        ram: the same of its RAM.
        instructions: of an inference, where they are counted for this core.

    """

    part: Part
    core: str | None
    lacks: tuple[str, ...]
    flash: float | None
    ram: float | None
    instructions: int | None

    @property
    def fits(self) -> bool:
        """Whether it fits, as far as the report knows."""
        return self.core is not None and not self.lacks


def parts() -> tuple[Part, ...]:
    """All of them, by maker."""
    rows = json.loads(files("tinyrt.report").joinpath("parts.json").read_text(encoding="utf-8"))
    return tuple(Part(**row) for row in rows)


def fits(cores: Sequence[CoreFacts]) -> tuple[Fit, ...]:
    """How a model fits on each part, by the figures of its core or of one with the same code.

    Cores of one instruction set have the same arena and weights, and nearly the same code; their
    instructions are said for the very core only. Code counts where it was built.
    """
    return tuple(_fit(part, cores) for part in parts())


def _fit(part: Part, cores: Sequence[CoreFacts]) -> Fit:
    isa = find_core(part.core).isa
    same = [core for core in cores if core.core == part.core]
    alike = same or [core for core in cores if find_core(core.core).isa is isa]
    if not alike:
        return Fit(part, None, (), None, None, None)
    core = alike[0]
    flash = core.flash.total or core.flash.weights
    room = None if part.flash_kib is None else part.flash_kib * KIBI
    shares = {"flash": room and flash / room, "RAM": core.ram.total / (part.ram_kib * KIBI)}
    return Fit(
        part=part,
        core=core.core,
        lacks=tuple(name for name, share in shares.items() if share is not None and share > 1),
        flash=shares["flash"],
        ram=shares["RAM"],
        instructions=core.instructions if same else None,
    )
