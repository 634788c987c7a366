"""Costs of ops as bars, one core beside the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tinyrt.report.facts import CoreFacts, ModelFacts


@dataclass(frozen=True, slots=True)
class CoreBars:
    """An op's bars on one core.

    Attributes:
        core: its name.
        instructions: of the op; None where they are not known.
        part: their share of the most that any op takes on any core.
        per_mac: instructions for each multiply-accumulate; None for an op without.
        per_mac_part: its share of the most of any op on any core.

    """

    core: str
    instructions: int | None
    part: float
    per_mac: float | None
    per_mac_part: float


@dataclass(frozen=True, slots=True)
class OpBars:
    """An op's bars on all cores."""

    index: int
    op: str
    cores: tuple[CoreBars, ...]


def draw_bars(model: ModelFacts, indices: Iterable[int]) -> tuple[OpBars, ...]:
    """The bars of these ops, in this order; all of a kind have one scale."""
    ops = range(len(model.ops))
    most = max((core.ops[i].instructions or 0 for core in model.cores for i in ops), default=0)
    steepest = max((per_mac(model, core, i) or 0.0 for core in model.cores for i in ops), default=0)

    def on(core: CoreFacts, i: int) -> CoreBars:
        count, slope = core.ops[i].instructions, per_mac(model, core, i)
        parts = (count or 0) / (most or 1), (slope or 0.0) / (steepest or 1)
        return CoreBars(core.core, count, parts[0], slope, parts[1])

    return tuple(
        OpBars(i, model.ops[i].op, tuple(on(core, i) for core in model.cores)) for i in indices
    )


def per_mac(model: ModelFacts, core: CoreFacts, index: int) -> float | None:
    """Instructions of an op for each multiply-accumulate; None where either is not there."""
    count, macs = core.ops[index].instructions, model.ops[index].macs
    return count / macs if count is not None and macs else None
