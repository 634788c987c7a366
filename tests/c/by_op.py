"""Programs of many ops in which one that stops the program costs its own answers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.c.host import BESIDE, StoppedError, build_program, run_program
from tinyrt.export import ExportedProject, ExportOptions, export_graph
from tinyrt.export.options import ONE_ARENA
from tinyrt.ir import Graph
from tinyrt.ops.shared.evaluate import evaluate

Tensors = Mapping[str, np.ndarray]
Make = Callable[[Iterable[str]], tuple[Graph, Tensors]]


@dataclass(frozen=True)
class Answers:
    """What a program of many ops answered.

    Attributes:
        expected: output name -> the reference's answer.
        found: mode of the program -> output name -> its answer.
        stopped: op -> the report of the program that stopped in it.

    """

    expected: Tensors
    found: Mapping[str, Tensors]
    stopped: Mapping[str, StoppedError]

    def of(self, op: str) -> list[tuple[str, np.ndarray, Any]]:
        """(name, answer, expected) of every output of one op, in every mode.

        Raises:
            StoppedError: the program stopped in that op.

        """
        if op in self.stopped:
            raise self.stopped[op]
        return [
            (f"{mode}: {name}", outputs[name], self.expected[name])
            for mode, outputs in self.found.items()
            for name in outputs
            if name.split("/")[0] == op
        ]


def answers_by_op(
    make: Make,
    ops: Sequence[str],
    folder: Path,
    modes: Sequence[str] = ("beside",),
    damage: Callable[[ExportedProject], None] = lambda project: None,
) -> Answers:
    """All ops in one program; without those in which it stopped, as often as it stops.

    Args:
        make: ops -> a graph of them whose nodes' names begin with the op and a slash.
        ops: all of them.
        folder: for projects and programs.
        modes: of the program.
        damage: changes the project before it is built.

    """
    stopped: dict[str, StoppedError] = {}
    while True:
        graph, feeds = make([op for op in ops if op not in stopped])
        here = folder / f"without_{len(stopped)}"
        here.mkdir()
        memories = BESIDE if tuple(modes) == ("beside",) else ONE_ARENA
        project = export_graph(graph, here / "project", options=ExportOptions(memories=memories))
        damage(project)
        program = build_program(project, here)
        try:
            found = {mode: run_program(program, project, feeds, mode) for mode in modes}
        except StoppedError as report:
            op = report.op.split("/")[0]
            if op not in ops or op in stopped:
                raise
            stopped[op] = report
            continue
        return Answers(evaluate(graph, feeds), found, stopped)
