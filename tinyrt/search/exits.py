"""Candidates with an early exit: what they cost, which threshold they take, what they answer.

The model's file has both heads as outputs, and the threshold in its metadata. It is split where the
rest goes on from the exit, and counted and exported as a cascade: see docs/cascades.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """A cascade in the emulator.

    Attributes:
        cost: a sample's on average.
        ways: instructions of counted samples that leave, and of those that do not: (n,) each,
            empty where no sample goes that way.

    """

    cost: ModelCost
    ways: tuple[Array, Array]


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
    return _written(graph, choice.threshold)


def _written(graph: Graph, threshold: int) -> bytes:
    return bytes(write_tflite(graph, {ENTRY: str(threshold).encode()}))


def probabilities_of(model: Path, x: Array) -> Array:
    """Probabilities by the head that answers each sample, (n, classes)."""
    with scratch_folder() as folder:
        cascade = parts_of(model, folder)
        scores = cascade.real_scores(cascade.run(x)).astype(np.float64)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


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
        # The code that compares with the greatest threshold is the longest.
        cascade = parts_of(path, folder, NEVER if threshold is None else threshold)
        if basis is None or basis in (Basis.FORMULA, Basis.LINKED):
            return _built(cascade, core, basis or Basis.FORMULA, folder)
        if threshold is None:
            return _least(cascade, core, basis, x)
        return _counted(cascade, core, basis, x).cost


def within_limit(
    graph: Graph, limit: int, core: str, basis: Basis, x: Array, y: Array
) -> tuple[bytes, ModelCost]:
    """The file of a trained model that is to hold a limit of instructions, and what it costs.

    So many samples leave as the limit asks for, by the greatest threshold that does it. If not even
    the front and the exit are within the limit, all leave.

    Args:
        graph: in integers, the exit's scores first.
        limit: instructions of a sample, on average.
        core: the processor core.
        basis: what figures come from; the emulator's.
        x: samples that it was not trained on, (n, ...); their share that leaves counts.
        y: their classes, (n,).

    """
    with scratch_folder() as folder:
        path = Path(save_tflite(graph, folder / "model.tflite"))
        cascade = parts_of(path, folder, ALWAYS)
        leaves = _counted(cascade, core, basis, x).ways[0].mean()
        choice = cascade.choose_threshold(x, y)
        found = _counted(cascade, core, basis, x)
        while (found.cost.instructions or 0) > limit and choice.exits < 1:
            stays = found.ways[1].mean()
            share = (stays - limit) / (stays - leaves)
            more = choice.exits + 1 / len(x)
            choice = cascade.choose_threshold(x, y, exits=min(1.0, max(share, more)))
            found = _counted(cascade, core, basis, x)
    return _written(graph, choice.threshold), found.cost


def _least(cascade: Cascade, core: str, basis: Basis, x: Array) -> ModelCost:
    """What the cascade costs if all samples leave, with the longest code."""
    longest = _counted(cascade, core, basis, x).cost
    cascade.threshold = ALWAYS
    return replace(longest, instructions=int(_counted(cascade, core, basis, x).ways[0].max()))


def _counted(cascade: Cascade, core: str, basis: Basis, x: Array) -> _Counted:
    stages = cascade.run(x).stages
    rows = [np.flatnonzero(stages == stage) for stage in (0, 1)]
    run = cascade.emulate(x[np.concatenate([each[:COUNTED] for each in rows])], core=core)
    assert run.instructions is not None, "cores without an emulator are not counted on"
    ways = run.instructions[run.stages == 0], run.instructions[run.stages == 1]
    total = sum(len(each) * way.mean() for each, way in zip(rows, ways, strict=True) if len(each))
    ram, flash = run.emulation.ram, run.emulation.flash
    mean = round(total / len(x))
    return _Counted(ModelCost(core, basis, ram.arena, flash.weights, flash.code, mean), ways)


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
