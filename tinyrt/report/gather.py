"""Gathers what a report says: from the same functions as ``inspect``, ``emulate`` and ``eval``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tinyrt import __version__
from tinyrt.api import Inspection, run_emulated
from tinyrt.api.costs import Basis, ModelCost, cost_by_formula
from tinyrt.api.inputs import Data
from tinyrt.api.inspection import inspect_graph
from tinyrt.backends.c.choice import find
from tinyrt.backends.c.kernel import Kernel, Target
from tinyrt.backends.c.planning import CKernels
from tinyrt.backends.c.reasons import reason
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import EmulationReport, Timing
from tinyrt.emulate.baseline import load_baseline
from tinyrt.emulate.cycles import Cycles
from tinyrt.errors import DataError, UnsupportedError, error_context
from tinyrt.export import Core, find_core
from tinyrt.export.estimate import kernel_estimated
from tinyrt.export.target import HOST, Optimize, find_optimize, target_of
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import BoundNode, Graph
from tinyrt.report import facts
from tinyrt.report.models import model_facts
from tinyrt.text import shown_name
from tinyrt.tools import stoppable

COUNTED, FORMULA = Basis.COUNTED.value, Basis.FORMULA.value


@dataclass(frozen=True, slots=True)
class Asked:
    """What a report is asked to say of each model.

    Attributes:
        cores: names of the cores.
        optimize: what the code is made for.
        estimate: whether costs are computed by formula, so that nothing is built.
        cycles: whether cycles are told, too, of flash without wait states.
        data: samples, and labels where there are any; None without.
        against: the float model that all others were made from; None without.

    """

    cores: tuple[str, ...]
    optimize: str
    estimate: bool
    cycles: bool
    data: Data | None
    against: str | Path | None


def gather(
    models: Sequence[str | Path], asked: Asked, progress: Progress | None = None
) -> facts.Report:
    """The data of a report.

    Args:
        models: .tflite files.
        asked: what is said of each.
        progress: called with the steps done and their total; a step is a model, or one on a core.

    Raises:
        DataError: no model or core is given, one is given twice, or the data do not fit.
        TinyrtError: a model cannot be read, exported or emulated.

    """
    cores = _cores(asked)
    _require_several("model", [str(Path(model).resolve()) for model in models])
    optimize = find_optimize(asked.optimize)
    graphs = [read_tflite(model) for model in models]
    steps = len(models) * (1 + len(cores))
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    made, costs = [], []
    threads = min(len(models) * len(cores), os.cpu_count() or 1)
    # Compilers and emulators are processes of their own: Python waits for them meanwhile.
    with stoppable() as stop, ThreadPoolExecutor(threads) as pool:
        try:
            running = [
                pool.submit(_job(on_core, model, graph, core, optimize, asked))
                for model, graph in zip(models, graphs, strict=True)
                for core in cores
            ]
            for model, graph, name in zip(models, graphs, distinct(models), strict=True):
                made.append(model_facts(model, graph, name, asked.data, asked.against))
                tick()
            for future in running:
                costs.append(future.result())
                tick()
        finally:  # whoever is told that the data do not fit does not wait for the others
            stop.set()
            pool.shutdown(cancel_futures=True)
    each = [tuple(costs[i : i + len(cores)]) for i in range(0, len(costs), len(cores))]
    whole = (replace(one, cores=own) for one, own in zip(made, each, strict=True))
    return facts.Report(__version__, optimize.value, tuple(whole))


def _cores(asked: Asked) -> list[Core]:
    cores = [find_core(name) for name in asked.cores]
    _require_several("core", [core.name for core in cores])
    return cores


def _require_several(kind: str, names: Sequence[str]) -> None:
    """Raise where there is none, or one of them twice."""
    double = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if not names or double is not None:
        raise DataError(
            f"a report of no {kind}" if double is None else f"{kind} {double} is given twice",
            expected=f"one {kind} or several, each once",
        )


def _job(function: Callable[..., facts.CoreFacts], *args: Any) -> Callable[[], facts.CoreFacts]:
    """The call in a context of its own, which spends from the same budget."""
    context = copy_context()
    return lambda: context.run(function, *args)


def distinct(models: Sequence[str | Path]) -> list[str]:
    """Names of the files, with as many of their folders as tell them apart."""
    paths = [Path(model).resolve().with_suffix("") for model in models]
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = [Path(*path.parts[-depth:]).as_posix() for path in paths]
        if len(set(names)) == len(names):
            return names
    return [Path(model).resolve().name for model in models]  # one file of two types


def on_core(
    model: str | Path, graph: Graph, core: Core, optimize: Optimize, asked: Asked
) -> facts.CoreFacts:
    """A model on a core: counted in the emulator, or by formula.

    Args:
        model: its file.
        graph: what the file holds.
        core: the processor core.
        optimize: what the code is made for.
        asked: whether costs are computed by formula, and whether cycles are told.

    Raises:
        ToolError: the cross-compiler or the emulator is missing or failed.
        UnsupportedError: cycles of the core are not known.
        TinyrtError: the model cannot be exported.

    """
    with error_context(file=str(model)):
        target = target_of(core, optimize)
        inspection = inspect_graph(graph, CKernels(target))
        if asked.estimate:
            cost = cost_by_formula(graph, core.name, optimize.value)
            return _by_formula(inspection, target, cost)
    emulation = run_emulated(
        *(model,),
        core=core.name,
        optimize=optimize.value,
        samples=1,
        profile=bool(core.prefix),
        cycles=Timing() if asked.cycles else None,
    )
    return _counted(inspection, target, emulation)


def _counted(inspection: Inspection, target: Target, run: EmulationReport) -> facts.CoreFacts:
    counted = {op.index: op for op in run.ops or ()}
    pairs = [
        (counted[i].instructions, counted[i].baseline) if i in counted else (None, None)
        for i in range(len(inspection.ops))
    ]
    cycles = {i: _cycles(op.cycles) for i, op in counted.items()}
    ops = _ops(inspection, target, pairs)
    return facts.CoreFacts(
        core=run.core,
        basis=COUNTED,
        board=run.board,
        bit_exact=run.agrees,
        instructions=run.instructions,
        instructions_per_mac=run.instructions_per_mac,
        baseline=run.baseline,
        flash=facts.FlashFacts(run.flash.code, run.flash.weights),
        ram=facts.RamFacts(
            *(run.ram.arena, run.ram.stack, run.ram.stack_bound, run.ram.static, run.ram.state)
        ),
        arena=arena_of(inspection),
        ops=tuple(replace(op, cycles=cycles.get(i)) for i, op in enumerate(ops)),
        cycles=None if run.cycles is None else _cycles(run.cycles.cycles),
    )


def _cycles(told: Cycles | None) -> facts.CycleFacts | None:
    return None if told is None else facts.CycleFacts(told.low, told.high)


def _by_formula(inspection: Inspection, target: Target, cost: ModelCost) -> facts.CoreFacts:
    baseline = load_baseline().ops(cost.core, inspection.graph)
    estimates = cost.by_op or [None] * len(inspection.ops)
    pairs = [(n, baseline.get(i)) for i, n in enumerate(estimates)]
    macs = inspection.macs
    return facts.CoreFacts(
        core=cost.core,
        basis=FORMULA,
        board=None,
        bit_exact=None,
        instructions=cost.instructions,
        instructions_per_mac=cost.instructions / macs if macs and cost.instructions else None,
        baseline=load_baseline().total(cost.core, inspection.graph),
        flash=facts.FlashFacts(cost.code, cost.weights),
        ram=facts.RamFacts(cost.arena, None, None, None, None),
        arena=arena_of(inspection),
        ops=tuple(_ops(inspection, target, pairs)),
    )


def by_kernel(inspection: Inspection) -> facts.CoreFacts:
    """A graph on the core that it was inspected for: its kernels, and costs by their formulas.

    There are no costs where ops run row by row or have no C kernel, and none on this machine.
    """
    target = inspection.kernels.target
    estimates = _estimates(inspection, find_core(inspection.core), target)
    cost = ModelCost(
        core=inspection.core,
        basis=Basis.FORMULA,
        arena=inspection.arena_bytes,
        weights=inspection.weight_bytes,
        code=None,
        instructions=None if estimates is None else round(math.fsum(estimates)),
        by_op=None if estimates is None else tuple(map(round, estimates)),
    )
    return _by_formula(inspection, target, cost)


def _estimates(inspection: Inspection, core: Core, target: Target) -> tuple[float, ...] | None:
    """Instructions of each op; 0 of one whose output is its input's bytes."""
    nodes, plan = list(inspection.graph.bound()), inspection.plan
    kernels = [kernel for node in nodes if (kernel := _kernel(node, target)) is not None]
    if core.prefix == HOST or plan.segments or len(kernels) < len(nodes):
        return None
    return tuple(
        0.0 if node.index in plan.idle else kernel_estimated(node, kernel, core)
        for node, kernel in zip(nodes, kernels, strict=True)
    )


def _kernel(node: BoundNode, target: Target) -> Kernel | None:
    """The node's C kernel; None where there is none for its tensors, which some say when called."""
    kernel = find(node, target)
    try:
        calls = () if kernel is None else kernel.calls
    except UnsupportedError:
        return None
    return kernel if calls else None


def _ops(
    inspection: Inspection, target: Target, costs: Sequence[tuple[int | None, int | None]]
) -> Iterator[facts.OpOnCore]:
    nodes = list(inspection.graph.bound())
    for node, op, (instructions, baseline) in zip(nodes, inspection.ops, costs, strict=True):
        kernel = _kernel(node, target)
        yield facts.OpOnCore(
            instructions=instructions,
            baseline=baseline,
            arena=op.arena_bytes,
            kernel=None if kernel is None else kernel.name,
            why="" if kernel is None else reason(node, kernel, target.isa),
        )


def arena_of(inspection: Inspection) -> facts.ArenaFacts:
    """The plan of a model's arena, and what would make it smaller."""
    plan, last = inspection.plan, max(len(inspection.ops) - 1, 0)
    moment = plan.fullest()
    return facts.ArenaFacts(
        bytes=plan.arena_bytes,
        lower_bound=plan.lower_bound,
        optimal=plan.optimal,
        peak=moment.node,
        kept=tuple(facts.Kept(name, nbytes) for name, nbytes in moment.sizes),
        buffers=tuple(
            facts.BufferFacts(
                names=tuple(map(shown_name, buffer.names)),
                offset=plan.start_of(buffer.names[0]),
                bytes=buffer.nbytes,
                first=max(buffer.first, 0),
                last=min(max(buffer.last, 0), last),
            )
            for buffer in plan.buffers
        ),
        ways=tuple(facts.Way(way.what, way.arena_bytes) for way in inspection.advice),
    )
