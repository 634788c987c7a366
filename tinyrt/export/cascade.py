"""Two models in one folder, and the function that asks the second where the first is not sure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

from tinyrt import __version__
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp.cascade import ALWAYS, NEVER
from tinyrt.dsp.checks import require_int
from tinyrt.entry import entry
from tinyrt.errors import BudgetError, UnsupportedError, error_context
from tinyrt.export import text as c_text
from tinyrt.export.bundle import render_model
from tinyrt.export.identity import IDENTITY, sealed, sha256_of
from tinyrt.export.info import labels_in
from tinyrt.export.layouts import Contents, arranged
from tinyrt.export.licence import licensed
from tinyrt.export.model import ARENA_ALIGNMENT, library_files
from tinyrt.export.names import add_files
from tinyrt.export.options import NO_OPTIONS, ONE_ARENA, ExportOptions
from tinyrt.export.ports import Port
from tinyrt.export.project import ExportedProject
from tinyrt.export.rendering import TEMPLATES, CFile, Source, render_c
from tinyrt.export.request import Request
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.folders import write_folder, written_files
from tinyrt.ir import DType, Graph, Value
from tinyrt.memory import Region
from tinyrt.memory.regions import ARENA
from tinyrt.ops.quantize import Affine, dequantize_array, quantize_array

OPTIONS = ("max_arena", "by_rows", "memories", "name", "prefix", "info", "unaligned", "layout")
"""Options of an export that a cascade has, too."""

NAME = "cascade"
"""What a cascade is called by default."""

STAGE = "stage"
"""The output that says which model answered."""


@dataclass(frozen=True, slots=True)
class Joint:
    """How two models fit together.

    Attributes:
        scores: the place of the scores among the first model's outputs.
        carried: the place of what the second model goes on from; None where it takes the same
            input.
        classes: how many scores there are.
        table: what the second model stores where the first stores -128, -127, and so on, for an
            input at another scale; None where both store the same.

    """

    scores: int
    carried: int | None
    classes: int
    table: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ExportedCascade:
    """The exported project of a cascade.

    Attributes:
        project: the cascade as a model: its input, the scores and the stage, its arena.
        first: the model that answers first.
        second: the model that answers where the first is not sure.
        joint: how they fit together.
        threshold: the least margin that is enough.

    """

    project: ExportedProject
    first: ExportedProject
    second: ExportedProject
    joint: Joint
    threshold: int


def joint_of(first: Graph, second: Graph) -> Joint:
    """How two models fit together: by one input, or by an output that the second one goes on from.

    An output of the first model that is called as the second one's input is what it goes on from.

    Raises:
        UnsupportedError: they do not fit, keep state, or have other scores than int8 of one sample.

    """
    for graph in (first, second):
        if len(graph.fed) != 1 or graph.states:
            raise UnsupportedError(
                f"model '{graph.name}' has {len(graph.fed)} inputs and {len(graph.states)} states",
                expected="one input and no state in each model of a cascade",
                hint="export the models side by side, and call them by a function of your own",
            )
    target = second.value(second.fed[0])
    outputs = list(first.answers)
    carried = outputs.index(target.name) if target.name in outputs and len(outputs) == 2 else None
    expected = 1 if carried is None else 2
    if len(outputs) != expected or len(second.answers) != 1:
        raise UnsupportedError(
            f"the models have {len(outputs)} and {len(second.answers)} outputs",
            expected=f"the first: scores, and beside them at most '{target.name}', from which the "
            "second goes on; the second: scores",
            hint="cut a network with an early exit with tinyrt.api.split_early_exit",
        )
    scores = 0 if carried is None else 1 - carried
    source = first.value(first.fed[0] if carried is None else outputs[carried])
    same = (source.shape, source.dtype) == (target.shape, target.dtype)
    converts = same and carried is None and source.dtype is DType.INT8
    if not same or (source.q != target.q and not converts):
        raise UnsupportedError(
            f"the second model takes {_typed(target)}",
            expected=f"what the first one {'takes' if carried is None else 'gives'}: "
            f"{_typed(source)}",
            hint="let both models take the same input, quantised to int8",
        )
    ports = (first.value(outputs[scores]), second.value(second.answers[0]))
    for port in ports:
        _check_scores(port, ports[0].size)
    table = None if source.q == target.q else _table(source, target)
    return Joint(scores, carried, ports[0].size, table)


def _table(source: Value, target: Value) -> tuple[int, ...]:
    """What the target stores for the number that each int8 of the source stands for."""
    assert source.q is not None
    assert target.q is not None
    numbers = dequantize_array(
        Affine(source.q.scale, source.q.zero_point), np.arange(INT8_MIN, INT8_MAX + 1)
    )
    stored = quantize_array(numbers, np.float32(target.q.scale), target.q.zero_point)
    return tuple(stored.tolist())


def _typed(value: Value) -> str:
    """A value's shape and dtype, and the scale of its numbers."""
    q = value.q
    at = "" if q is None else f", scale {q.scale:.6g}, zero point {q.zero_point}"
    return f"{value.describe()}{at}"


def _check_scores(port: Value, classes: int) -> None:
    one = port.shape[:1] == (1,) and prod(port.shape) == port.shape[-1] >= 2
    if port.dtype is not DType.INT8 or not one or port.size != classes:
        raise UnsupportedError(
            "a cascade cannot compare these scores",
            tensor=port.describe(),
            expected=f"int8 scores of one sample, {max(classes, 2)} classes in both models",
            hint="quantise the models: tinyrt quantize",
        )


@entry
def export_cascade(
    first: str | Path,
    second: str | Path,
    out_dir: str | Path,
    *,
    threshold: int,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
) -> ExportedCascade:
    """Write one C project of two models that share an arena, and of the function that runs them.

    Args:
        first: the .tflite that answers first.
        second: the .tflite that answers where the first is not sure.
        out_dir: the folder to write; as for ``export_c``.
        threshold: the least margin of the first that is enough, 0 to 256.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``, of the code.
        options: those in ``OPTIONS``. A name is the cascade's; a prefix stands before the models',
            too. ``max_arena`` is of the arena that both take turns in; information is each model's
            own. Of ``memories``, alignment and section of the weights.

    Raises:
        UnsupportedError: the models do not fit together, have the same name, or cannot be exported;
            or there is another option.
        BudgetError: the arena takes more than ``max_arena``.
        DataError: the threshold is out of range.
        TinyrtError: as ``export_c``.

    """
    require_int(threshold, ALWAYS, NEVER, "threshold")
    _check_options(options)
    own_name, directory = options.naming.model(NAME), Path(out_dir)
    paths = (Path(first), Path(second))
    graphs = [read_tflite(path) for path in paths]
    with error_context(file=f"{first}, {second}"):
        joint = joint_of(graphs[0], graphs[1])
    kept = _kept(graphs[0], joint)
    request = Request.of(core, optimize, _each(options, kept))
    own: dict[str, CFile] = {}
    projects: list[ExportedProject] = []
    for path, graph in zip(paths, graphs, strict=True):
        with error_context(file=str(path)):
            project, files = render_model(graph, directory, request, sha256_of(path))
            if options.info:
                files |= project.info_files(graph.name, labels_in(path))
        _check_name(project.name, [own_name, *(other.name for other in projects)])
        add_files(own, files, project.name)
        projects.append(project)
    whole = _as_model(own_name, projects, joint, kept)
    alignment = max(ARENA_ALIGNMENT, options.memories.alignment)
    add_files(own, _files(whole, projects, joint, threshold, alignment), own_name)
    texts = {file_name: file.text for file_name, file in own.items()}
    texts |= library_files(
        *(own_name, [p.name for p in projects], whole.kernels, request.core, request.optimize),
        takes_samples=[own_name],
        layout=request.layout,
        has_info=options.info,
    )
    what = f"{own_name}, a cascade of two models"
    contents = Contents(own_name, request.core, request.optimize, what, (whole,))
    identity, texts = sealed(licensed(arranged(texts, request.layout, contents)))
    write_folder(directory, texts)
    parts = [replace(project, identity=identity) for project in projects]
    whole = replace(whole, identity=identity, files=written_files(texts))
    return ExportedCascade(whole, parts[0], parts[1], joint, threshold)


def _check_options(options: ExportOptions) -> None:
    """Refuse what a cascade has no code for."""
    options.require_only(OPTIONS, "a cascade")
    memories, plain = options.memories, ONE_ARENA
    if memories.regions != plain.regions:
        raise UnsupportedError(
            "a cascade lies in one arena",
            expected="no regions",
            hint="leave the regions out, or export both models with them and compare the margin "
            "where you call them",
        )
    if not (memories.inputs_in_arena and memories.outputs_in_arena):
        raise UnsupportedError(
            "inputs and outputs of a cascade never lie in its arena",
            expected="memories that say nothing of them",
            hint="leave inputs_in_arena and outputs_in_arena out",
        )


def _each(options: ExportOptions, kept: int) -> ExportOptions:
    """What is asked of each model, whose tensors are given by the function that calls it."""
    limit = options.max_arena
    if limit is not None and limit < kept:
        raise BudgetError(
            f"{kept:,} bytes of the arena wait for the second model",
            expected=f"at most {limit:,} bytes in all",
            hint="allow a larger arena, or let both models take one input at one scale",
        )
    return replace(
        options,
        name=None,
        max_arena=None if limit is None else (limit - kept) // ARENA_ALIGNMENT * ARENA_ALIGNMENT,
        memories=replace(options.memories, inputs_in_arena=False, outputs_in_arena=False),
    )


def _kept(first: Graph, joint: Joint) -> int:
    """Bytes that wait in the arena while the first model's answer is judged."""
    if joint.carried is not None:
        return first.value(first.answers[joint.carried]).nbytes
    return 0 if joint.table is None else first.value(first.fed[0]).nbytes


def _check_name(name: str, others: list[str]) -> None:
    if name in others:
        raise UnsupportedError(
            f"two parts of the cascade are called '{name}'",
            expected="a name for each model, and another for the cascade",
            hint="rename one of the files, or give the cascade a name",
        )


def _as_model(
    name: str, projects: list[ExportedProject], joint: Joint, kept: int
) -> ExportedProject:
    """The cascade as the harness sees it: a model with an input, scores and a stage."""
    first, second = projects
    scores = replace(first.outputs[joint.scores], name="scores", scale=None, zero_point=None)
    stage = Port(STAGE, DType.INT32, (1,), None, 4, None, None)
    arena = _aligned(max(p.arena_bytes for p in projects)) + kept
    return ExportedProject(
        name=name,
        directory=first.directory,
        core=first.core,
        arena_bytes=arena,
        inputs=first.inputs,
        outputs=(scores, stage),
        kernels=tuple(dict.fromkeys([*first.kernels, *second.kernels])),
        macs=first.macs + second.macs,
        optimize=first.optimize,
        regions=(Region(ARENA, arena),),
        segments=(*first.segments, *second.segments),
        weights_section=first.weights_section,
        weight_bytes=first.weight_bytes + second.weight_bytes,
        filter_bytes=first.filter_bytes + second.filter_bytes,
    )


def _aligned(size: int) -> int:
    return -(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def _files(
    whole: ExportedProject,
    projects: list[ExportedProject],
    joint: Joint,
    threshold: int,
    alignment: int,
) -> dict[str, CFile]:
    """The cascade's own header and source."""
    first, second = projects
    carried = None
    if joint.carried is not None:
        carried = {"index": joint.carried, "c_type": first.outputs[joint.carried].c_type}
    table = None
    if joint.table is not None:
        stored = np.array(joint.table, np.int8)
        table = Source(c_text.array("static const", "int8_t", "at_other_scale", stored))
    context = {
        "title": f"{whole.name}: {first.name}, and {second.name} where it is not sure",
        "name": whole.name,
        "NAME": whole.name.upper(),
        "identity": IDENTITY,
        "version": Source(f'"{__version__}"'),
        "first": first.name,
        "second": second.name,
        "arena_bytes": whole.arena_bytes,
        "alignment": alignment,
        "classes": joint.classes,
        "threshold": threshold,
        "input": first.inputs[0],
        "scores": joint.scores,
        "carried": carried,
        "table": table,
        "kept_at": _aligned(max(p.arena_bytes for p in projects)),
    }
    ends = (".c", ".h")
    return {f"{whole.name}{e}": render_c(TEMPLATES, f"cascade{e}.j2", context) for e in ends}
