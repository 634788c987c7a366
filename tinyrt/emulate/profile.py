"""The cost of every op on the emulated core, beside another engine's figures if there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyrt.emulate.baseline import Baseline
from tinyrt.emulate.boards import Board
from tinyrt.emulate.cycles import Cycles, Meter
from tinyrt.emulate.cycles.meter import BEGIN, END
from tinyrt.emulate.image import build_image
from tinyrt.emulate.qemu import PHASES, Instructions, boot
from tinyrt.export import ExportedProject
from tinyrt.ir import Graph
from tinyrt.ops import OPS
from tinyrt.tools import EMULATOR_S

NOTHING = 0xFFFF_FFFF
"""The op index under which the harness times an empty pair of hooks."""

HOOKS = (BEGIN, END)


@dataclass(frozen=True, slots=True)
class OpCost:
    """One op of the model.

    Attributes:
        index: its place in the model.
        op: its kind.
        name: its name in the model.
        macs: multiply-accumulates.
        instructions: of its calls; 0 for an op that moves nothing.
        baseline: instructions that another engine needs for the same op on this core, if known.
        cycles: fewest and most of its calls; None unless they were asked for.

    """

    index: int
    op: str
    name: str
    macs: int
    instructions: int
    baseline: int | None
    cycles: Cycles | None = None

    @property
    def instructions_per_mac(self) -> float | None:
        """None for an op without multiplications."""
        return self.instructions / self.macs if self.macs else None

    @property
    def ratio(self) -> float | None:
        """Instructions relative to the baseline's."""
        return self.instructions / self.baseline if self.baseline else None

    def as_dict(self) -> dict[str, Any]:
        """The op's cost as plain data, for ``--json``."""
        return {
            "index": self.index,
            "op": self.op,
            "name": self.name,
            "macs": self.macs,
            "instructions": self.instructions,
            "instructions_per_mac": self.instructions_per_mac,
            "baseline": self.baseline,
            "ratio": self.ratio,
        } | ({} if self.cycles is None else {"cycles": self.cycles.as_dict()})


def profile_ops(
    project: ExportedProject,
    graph: Graph,
    inputs: bytes,
    build_dir: Path,
    *,
    board: Board,
    baseline: Baseline | None = None,
    meter: Meter | None = None,
    timeout_s: float = EMULATOR_S,
) -> tuple[OpCost, ...]:
    """Count every op's instructions in an image of its own, with hooks around the ops' calls.

    Args:
        project: what ``export_c`` wrote for the graph.
        graph: the model, as ``for_request`` gives it.
        inputs: one sample of all inputs.
        build_dir: an existing folder.
        board: what to run on.
        baseline: the other engine's figures for this model, if there are any.
        meter: what tells cycles; None without them.
        timeout_s: when to give up on the emulator, in seconds.

    Raises:
        ToolError: compiler or emulator are missing or failed.
        UnsupportedError: the cycles of an instruction are not known.

    """
    image = build_image(project, build_dir, board=board, profile=True)
    folder = image.path.parent
    listing = None if meter is None else meter.listing(image.path)
    options = [] if meter is None or listing is None else meter.options(listing, HOOKS, folder)
    report = boot(image, inputs, folder, timeout_s=timeout_s, options=options)
    instructions = op_instructions(report)
    cycles: Mapping[int, Cycles] = {}
    if meter is not None and listing is not None:
        cycles = meter.of_ops(listing, folder, report["op"], instructions, PHASES)
    none = None if meter is None else Cycles(0, 0)
    others = baseline.ops(project.core.name, graph) if baseline else {}
    return tuple(
        OpCost(
            node.index,
            node.op,
            node.name,
            OPS[node.op].macs(node),
            instructions.get(node.index, 0),
            others.get(node.index),
            cycles.get(node.index, none),
        )
        for node in graph.bound()
    )


def op_instructions(report: Mapping[str, list[int]]) -> dict[int, int]:
    """Op index -> instructions of one inference, all of its calls together."""
    count = Instructions(report)
    totals: dict[int, float] = {}
    calls: dict[int, int] = {}
    for op, ticks, polls in zip(report["op"], report["op_ticks"], report["op_polls"], strict=True):
        totals[op] = totals.get(op, 0.0) + count(ticks, polls)
        calls[op] = calls.get(op, 0) + 1
    empty = totals.pop(NOTHING) / calls[NOTHING]
    return {op: round((totals[op] - calls[op] * empty) / PHASES) for op in totals}
