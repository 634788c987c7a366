"""The folder for one model: the model's own files, and the kernels it uses."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path

from tinyrt.attached import Fitted, at_model, front_end_of
from tinyrt.backends.c.kernel import NO_CHOICES, Target
from tinyrt.backends.c.parts.cutting import MARGIN
from tinyrt.backends.c.planning import CKernels
from tinyrt.backends.c.rejoined import rejoined
from tinyrt.budget import current
from tinyrt.convert.port_types import with_port_types
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import Pipeline, Vision
from tinyrt.entry import entry
from tinyrt.errors import BudgetError, ConversionWarning, error_context, warn
from tinyrt.export.audio import with_audio, write_audio
from tinyrt.export.blob.choices import choices_of
from tinyrt.export.blob.code import blob_code
from tinyrt.export.blob.writer import BlobWriter, require_whole_tensors
from tinyrt.export.board import write_board
from tinyrt.export.camera import check_camera, write_camera
from tinyrt.export.estimate import instructions_estimated
from tinyrt.export.identity import sealed, sha256_of
from tinyrt.export.info import labels_in
from tinyrt.export.integers import require_short_integers
from tinyrt.export.layouts import Contents, arranged
from tinyrt.export.licence import licensed
from tinyrt.export.model import (
    library_files,
    model_context,
    model_files,
    write_ops,
)
from tinyrt.export.options import NO_OPTIONS, ExportOptions
from tinyrt.export.ports import port_of
from tinyrt.export.project import ExportedProject
from tinyrt.export.rendering import CFile
from tinyrt.export.request import Request
from tinyrt.export.selftest import write_selftest
from tinyrt.export.slices import Slices, write_slices
from tinyrt.export.sparsity import sparse_layers
from tinyrt.export.states import StateLayout, lay_out, settle
from tinyrt.export.target import target_of
from tinyrt.export.writable import check_writable
from tinyrt.export.writer import ModelWriter
from tinyrt.folders import write_folder, written_files
from tinyrt.ir import Graph
from tinyrt.memory import (
    ArenaPlan,
    plan_by_rows,
    plan_memory,
    plan_pushed,
    require_budget,
)
from tinyrt.memory.kernels import Kernels
from tinyrt.ops import OPS
from tinyrt.ops.shared.stored_weights import widen_weights
from tinyrt.sighted import Sighted


@entry
def export_c(
    model_path: str | Path,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
) -> ExportedProject:
    """Write the C project of a .tflite model.

    The folder gets all files or none (see ``folders``). In a folder that exists, the export
    replaces or removes the files of an earlier export, and leaves everything else.

    Args:
        model_path: a .tflite file.
        out_dir: the folder to write.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``: of the code, and of weights with zeros.
        options: all else that is asked for; none by default.

    Raises:
        ModelFormatError: the file is not a model.
        BudgetError: the arena takes more than ``max_arena``, or a region is too small; nothing is
            written.
        UnsupportedError: an op has no C kernel, cannot be cut into such slices, or there is no such
            core or optimisation.
        OutputError: the folder cannot be written.

    """
    request = Request.of(core, optimize, options)
    path = Path(model_path)
    with error_context(file=str(path)):
        labels, front_end = labels_in(path) if options.info else None, front_end_of(path)
        graph, digest = read_tflite(path), sha256_of(path)
        return export_request(graph, out_dir, request, digest, labels, front_end)


def export_graph(
    graph: Graph,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
    model_sha256: str | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    front_end: Pipeline | Vision | None = None,
) -> ExportedProject:
    """Write the C project of a graph, by default named after the graph; see ``export_c``.

    ``model_sha256`` is the digest of the file that the graph was read from, where there is one;
    ``labels`` are lists of labels that may be an output's, for information that is asked for with
    them or by the option ``info``; with a ``front_end``, the project takes samples or frames, too.
    """
    request = Request.of(core, optimize, options)
    return export_request(graph, out_dir, request, model_sha256, labels, front_end)


def export_request(
    graph: Graph,
    out_dir: str | Path,
    request: Request,
    model_sha256: str | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    front_end: Pipeline | Vision | None = None,
) -> ExportedProject:
    """Write the C project of a graph as it is asked for; see ``export_graph``."""
    where = Path(out_dir)
    project, files = render_project(graph, where, request, model_sha256, labels, front_end)
    write_folder(project.directory, files)
    return project


def render_project(
    graph: Graph,
    directory: Path,
    request: Request,
    model_sha256: str | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    front_end: Pipeline | Vision | None = None,
) -> tuple[ExportedProject, dict[str, str | bytes]]:
    """A project, and the text of its files by name; raises as ``render_model``."""
    project, own = render_model(graph, directory, request, model_sha256, front_end)
    name, options = project.name, request.options
    has_info = options.info or labels is not None
    if has_info:
        own |= project.info_files(graph.name, labels or ())
    texts = {file_name: file.text for file_name, file in own.items()}
    choices, layout = (request.core, request.optimize), request.layout
    texts |= library_files(
        *(name, [name], project.kernels, *choices),
        has_info=has_info,
        has_blob=options.blob,
        has_selftest=project.selftest is not None,
        has_board=project.board is not None,
        takes_samples=project.sample_files,
        layout=layout,
    )
    contents = Contents(name, *choices, f"{name}, a model", (project,))
    identity, texts = sealed(licensed(arranged(texts, layout, contents)))
    files: dict[str, str | bytes] = {**texts, **project.blob_files(request)}
    return replace(project, identity=identity, files=written_files(files)), files


def render_model(
    graph: Graph,
    directory: Path,
    request: Request,
    model_sha256: str | None = None,
    front_end: Pipeline | Vision | None = None,
) -> tuple[ExportedProject, dict[str, CFile]]:
    """A project, and its own files, without kernels and build files.

    Args:
        graph: the model.
        directory: where it is to lie.
        request: the choices that it is made with.
        model_sha256: of the model's file; None for a model without one.
        front_end: what makes features of samples, or images of frames; None for a model that takes
            its input.

    Raises:
        BudgetError: the arena takes more than ``max_arena``, or a region is too small.
        UnsupportedError: the model cannot be exported, or the front end does not fit it.

    """
    prefix = request.options.naming.model(graph.name)
    if isinstance(front_end, Vision):
        check_camera(request)
    graph = with_port_types(graph, *request.options.port_types)
    fit = None if front_end is None else at_model(front_end, graph)
    request = with_audio(request) if isinstance(fit, Fitted) else request
    options = request.options
    graph = for_request(settle(_with_wide_weights(graph)), request)
    check_writable(graph)
    states = lay_out(graph)
    chosen_for, plan = _planned(graph, request, states)
    if options.max_arena is not None:
        require_budget(graph, plan, options.max_arena)
    writer, slices = _written(prefix, graph, plan, chosen_for, states, request)
    blob = None
    if isinstance(writer, BlobWriter):
        parts = (graph, plan, states, writer, slices, request.core)
        blob = blob_code(*parts, model_sha256, chosen_for.choices)
    context = model_context(
        *(prefix, graph, plan, writer, states, options.memories, model_sha256, slices), blob
    )
    files, selftest, audio, camera = model_files(prefix, context), None, None, None
    if options.selftest is not None:
        vectors = options.selftest
        selftest, more = write_selftest(prefix, graph, plan, writer, vectors, context)
        files |= more
    board = None
    if options.board:
        board, more = write_board(prefix, context, model_sha256, selftest=selftest is not None)
        files |= more
    if isinstance(fit, Fitted):
        audio, more = write_audio(prefix, fit, plan, states, context)
        files |= more
    if isinstance(fit, Sighted):
        camera, more = write_camera(prefix, fit, writer.pushed, states, context)
        files |= more
    beside = audio or camera
    project = ExportedProject(
        name=prefix,
        directory=directory,
        core=request.core,
        optimize=request.optimize,
        arena_bytes=plan.arena_bytes,
        arena_lower_bound=plan.lower_bound,
        inputs=tuple(port_of(graph.value(name), plan) for name in graph.fed),
        outputs=tuple(port_of(graph.value(name), plan) for name in graph.answers),
        kernels=(*writer.functions, *(beside.kernels if beside else ())),
        macs=sum(OPS[n.op].macs(n) for n in graph.bound()),
        segments=plan.segments,
        pushed=writer.pushed,
        regions=plan.regions,
        state_bytes=states.nbytes,
        model_sha256=model_sha256,
        weights_section=options.memories.weights_section,
        weight_bytes=writer.weight_bytes if blob is None else blob.nbytes,
        filter_bytes=writer.filter_bytes,
        sparse=sparse_layers(graph, chosen_for),
        slices=slices,
        estimates=instructions_estimated(writer, graph, plan, request.core),
        blob=blob,
        selftest=selftest,
        board=board,
        audio=audio,
        camera=camera,
    )
    return project, files


def for_request(graph: Graph, request: Request) -> Graph:
    """The graph whose ops an export calls: some layers are put together for its kernels."""
    target = target_of(request.core, request.optimize)
    if request.options.blob:
        target = replace(target, choices=NO_CHOICES)
    sliced = request.options.slices is not None
    return rejoined(graph, replace(target, in_one_go=0.0) if sliced else target)


def _planned(graph: Graph, request: Request, states: StateLayout) -> tuple[Target, ArenaPlan]:
    """What kernels are chosen for, and their plan.

    Where memory is too small for convolutions by tiles, these go rather than that ops run row by
    row, which costs more. They go, too, where rows alone do not make room for them.
    """
    options = request.options
    limit = inf if options.max_arena is None else options.max_arena
    target, found = _target(graph, request), None
    with suppress(BudgetError):  # a region is too small
        found = target, _plan(graph, CKernels(target), options, states)
    if found is not None and _is_whole(found[1], options, limit):
        return found
    target = _target(graph, request, tiles=False)
    other = target, _plan(graph, CKernels(target), options, states)
    if found is None or _is_whole(other[1], options, limit):
        return other
    if found[1].arena_bytes <= limit:
        return found
    return min(found, other, key=lambda each: each[1].arena_bytes)


def _is_whole(plan: ArenaPlan, options: ExportOptions, limit: float) -> bool:
    """Whether a plan fits without rows that nobody asked for."""
    asked = options.by_rows or options.input_rows
    return plan.arena_bytes <= limit and (asked or not plan.segments)


def _target(graph: Graph, request: Request, *, tiles: bool = True) -> Target:
    """What kernels are chosen for.

    With a blob, choices are written into the code, and hold for other weights and scales.
    """
    target = replace(target_of(request.core, request.optimize), tiles=tiles)
    sliced = request.options.slices
    if sliced is not None:
        target = replace(target, in_one_go=MARGIN * sliced)
    if not request.options.blob:
        return target
    choices = request.choices or choices_of(graph, target, sliced=sliced is not None)
    return replace(target, choices=choices)


def _written(
    prefix: str,
    graph: Graph,
    plan: ArenaPlan,
    target: Target,
    states: StateLayout,
    request: Request,
) -> tuple[ModelWriter, Slices | None]:
    """The calls of all ops, in one go or in slices."""
    require_short_integers(graph)
    blob, limit = request.options.blob, request.options.slices
    if blob:
        require_whole_tensors(graph, plan)
    kind = BlobWriter if blob else ModelWriter
    if limit is None:
        return write_ops(prefix, graph, plan, target, states, kind), None
    writer = kind(prefix, graph, plan, target, states)
    return writer, write_slices(writer, graph, plan, request.core, limit)


def _with_wide_weights(graph: Graph) -> Graph:
    """The graph with its weights as its ops compute with them; warns where they grow."""
    wide, nbytes = widen_weights(graph, current())
    if nbytes:
        warn(
            "weights that are stored in fewer bits than their ops compute in are written as "
            f"floats, {nbytes:,} bytes of them. Quantise the model to keep them small: tinyrt "
            "quantize",
            ConversionWarning,
        )
    return wide


def _plan(graph: Graph, kernels: Kernels, options: ExportOptions, states: StateLayout) -> ArenaPlan:
    """The plan that the user asks for; a plan with segments also where no other plan fits."""
    memory, enough = options.memories.options(graph, states), options.max_arena or 0
    if options.input_rows:
        return plan_pushed(graph, kernels, options=memory, enough=enough)
    if options.by_rows or enough:
        return plan_by_rows(graph, kernels, options=memory, enough=enough)
    return plan_memory(graph, kernels, options=memory)
