"""Candidates with an early exit: what they cost, which threshold they take, what they answer.

The model's file has both heads as outputs, and the threshold in its metadata. It is split where the
rest goes on from the exit, and counted and exported as a cascade: see docs/cascades.md.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tinyrt.api.cascades import Cascade
from tinyrt.api.costs import Basis, ModelCost, cost
from tinyrt.api.exits import split_early_exit
from tinyrt.convert.tflite.metadata import entry_of
from tinyrt.convert.tflite.reader import map_file
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.dsp.cascade import ALWAYS, NEVER
from tinyrt.dsp.windows import Array
from tinyrt.emulate.boards import board_for
from tinyrt.errors import UnsupportedError
from tinyrt.export import find_core
from tinyrt.files import scratch_folder
from tinyrt.ir import Graph

ENTRY = "tinyrt.early_exit"
"""Name of the metadata: the threshold in decimal digits."""

FIRST, SECOND = "first.tflite", "second.tflite"
"""Names of the two parts of a model."""

COUNTED = 3
"""Samples of each way that are counted: they differ by a few instructions, where scores are
compared."""


def threshold_of(model: Path) -> int | None:
    """The threshold that a model's file carries; None of a model without an early exit."""
    found = entry_of(map_file(model), ENTRY)
    return None if found is None else int(found)


def parts_of(model: Path, folder: Path, threshold: int | None = None) -> Cascade:
    """Write a model's parts into the folder; together they are a cascade.

    Args:
        model: a file with both heads.
        folder: an existing one.
        threshold: in place of the file's own.

    """
    own = threshold_of(model) if threshold is None else threshold
    split_early_exit(model, folder / FIRST, folder / SECOND)
    return Cascade(folder / FIRST, folder / SECOND, threshold=NEVER if own is None else own)


def with_threshold(graph: Graph, x: Array, y: Array) -> bytes:
    """The file of a trained model, with the threshold that these samples choose.

    Of thresholds by which as many samples are right as by the final head alone, that by which most
    leave early.

    Args:
        graph: in integers, the exit's scores first.
        x: samples that it was not trained on, (n, ...).
        y: their classes, (n,).

    """
    with scratch_folder() as folder:
        path = Path(save_tflite(graph, folder / "model.tflite"))
        choice = parts_of(path, folder).choose_threshold(x, y)
    return bytes(write_tflite(graph, {ENTRY: str(choice.threshold).encode()}))


def scores_of(model: Path, x: Array) -> Array:
    """Scores of the head that answers each sample, (n, classes)."""
    with scratch_folder() as folder:
        return parts_of(model, folder).run(x).scores


def exit_cost(
    graph: Graph, threshold: int | None, core: str, basis: Basis | None, x: Array
) -> ModelCost:
    """What a network with an early exit costs; its instructions are those of a sample on average.

    Args:
        graph: in integers, the exit's scores first.
        threshold: of a trained model; None before training: then all samples leave, and no model
            can cost less.
        core: the processor core.
        basis: what figures come from; None for a formula.
        x: samples, whose share that leaves counts.

    Raises:
        UnsupportedError: cycles are asked for.

    """
    if basis is Basis.TIMED:
        raise UnsupportedError(
            "cycles of a network with an early exit",
            expected="a limit of instructions",
            hint="--max-instructions in place of --max-cycles",
        )
    with scratch_folder() as folder:
        path = Path(save_tflite(graph, folder / "model.tflite"))
        cascade = parts_of(path, folder, ALWAYS if threshold is None else threshold)
        if basis is None or basis in (Basis.FORMULA, Basis.LINKED):
            return _built(cascade, core, basis or Basis.FORMULA, folder)
        stages = cascade.run(x).stages
        ways = [np.flatnonzero(stages == stage) for stage in (0, 1)]
        run = cascade.emulate(x[np.concatenate([rows[:COUNTED] for rows in ways])], core=core)
    total, report = 0.0, run.emulation
    for stage, rows in enumerate(ways):
        mean = run.mean_of(stage)
        assert mean is not None or not len(rows), "cores without an emulator are not counted on"
        total += len(rows) * (mean or 0.0)
    return ModelCost(
        *(core, basis, report.ram.arena, report.flash.weights, report.flash.code),
        instructions=round(total / len(x)),
    )


def _built(cascade: Cascade, core: str, basis: Basis, folder: Path) -> ModelCost:
    """Without the emulator; instructions are those of the front and the exit, estimated."""
    from tinyrt.emulate.cascade import build_cascade

    exported = cascade.export(folder / "model", core=core)
    first = cost(cascade.first, core)
    weights = exported.first.weight_bytes + exported.second.weight_bytes
    arena, by_op = exported.project.arena_bytes, first.by_op
    if basis is Basis.FORMULA:
        return ModelCost(core, basis, arena, weights, None, first.instructions, by_op=by_op)
    board = board_for(find_core(core), None)
    sizes = build_cascade(exported, folder, board=board).sizes
    return ModelCost(core, basis, arena, sizes.weights, sizes.code, first.instructions, by_op=by_op)
