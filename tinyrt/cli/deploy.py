"""The command ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from tinyrt.amounts import parse_bytes
from tinyrt.cli import emulation_tables, tables
from tinyrt.cli.console import reporting
from tinyrt.cli.options import (
    Alignment,
    Blob,
    BoardPort,
    ByRows,
    Core,
    InputInArena,
    InputRows,
    InputType,
    Int8Model,
    Int8Models,
    Json,
    Layout,
    MadeFor,
    MaxArena,
    MaxMemory,
    NoUnaligned,
    OutputInArena,
    OutputType,
    Regions,
    Selftest,
    SharedArena,
    Slices,
    WeightsSection,
    parse_regions,
)

if TYPE_CHECKING:
    from tinyrt.export import ExportedModels, ExportedProject, ExportOptions


def export(
    models: Int8Models,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    core: Core = "cortex-m4",
    optimize: MadeFor = "balanced",
    max_arena: MaxArena = None,
    by_rows: ByRows = False,
    input_rows: InputRows = False,
    slices: Slices = None,
    blob: Blob = False,
    region: Regions = None,
    input_in_arena: InputInArena = True,
    output_in_arena: OutputInArena = True,
    alignment: Alignment = 4,
    weights_section: WeightsSection = None,
    shared_arena: SharedArena = False,
    name: Annotated[
        str | None,
        typer.Option("--name", help="What the model is called in C; as its file is, by default."),
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="What stands before each model's name in C.")
    ] = None,
    info: Annotated[
        bool, typer.Option("--info", help="Bring tensors' names and labels along, as NAME_info.")
    ] = False,
    no_unaligned: NoUnaligned = False,
    layout: Layout = "cmake",
    selftest: Selftest = None,
    board: BoardPort = False,
    input_type: InputType = None,
    output_type: OutputType = None,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Write models as a C project that builds by itself."""
    from tinyrt.export import ExportOptions, Memories, export_c, export_several

    if name is not None and len(models) > 1:
        raise typer.BadParameter(
            f"{len(models)} models cannot all be called '{name}'; --prefix stands before the names "
            "of all.",
            param_hint="--name",
        )
    with reporting(json, max_memory) as report:
        options = ExportOptions(
            max_arena=None if max_arena is None else parse_bytes(max_arena),
            by_rows=by_rows,
            input_rows=input_rows,
            memories=Memories(
                *(parse_regions(region), input_in_arena, output_in_arena),
                *(alignment, weights_section),
            ),
            name=name,
            prefix=prefix,
            info=info,
            unaligned=not no_unaligned,
            slices=slices,
            blob=blob,
            layout=layout,
            selftest=selftest,
            board=board,
            input_type=input_type,
            output_type=output_type,
        )
        made_for = {"core": core, "optimize": optimize}
        if len(models) > 1 or shared_arena:
            bundle = export_several(
                *(models, output), **made_for, options=options, shared_arena=shared_arena
            )
            report(*_several(bundle, options, shared_arena=shared_arena))
            return
        project = export_c(models[0], output, **made_for, options=options)
        rows = list(project.row_by_row)
        data: dict[str, Any] = {
            "output": str(project.directory),
            "name": project.name,
            "identity": project.identity,
            "core": project.core.name,
            "optimize": project.optimize.value,
            "layout": layout,
            "arena_bytes": project.arena_bytes,
            "arena_lower_bound": project.arena_lower_bound,
            "row_by_row": rows,
            "kernels": list(project.kernels),
        }
        if len(project.regions) > 1:
            data["regions"] = {r.name: r.nbytes for r in project.regions}
        if project.state_bytes:
            data["state_bytes"] = project.state_bytes
        data["sparse"] = [layer.as_dict() for layer in project.sparse]
        data |= _slices(project) | _blob(project) | _selftest(project)
        data |= _board(project) | _audio(project)
        extra: dict[str, Any] = {
            "row_by_row": ", ".join(rows) or "-",
            "kernels": ", ".join(project.kernels),
        }
        sparse = {
            f"  {layer.index} {tables.named(layer.name)}": str(layer) for layer in project.sparse
        }
        extra |= {"sparse": f"{len(sparse)} layers with many zeros" if sparse else "-"}
        if project.selftest is not None:
            extra |= {"selftest": str(project.selftest)}
        if project.board is not None:
            extra |= {"board": str(project.board)}
        if project.audio is not None:
            held, constants = project.audio.state_bytes, project.audio.table_bytes
            extra["audio"] = f"{held:,} bytes of state, {constants:,} of constants"
        if project.camera is not None:
            held, constants = project.camera.state_bytes, project.camera.table_bytes
            extra["camera"] = f"{held:,} bytes of state, {constants:,} of constants"
        if project.slices is not None:
            extra |= emulation_tables.slices(project.slices)
        if project.blob is not None:
            extra["blob"] = f"{project.blob.nbytes:,} bytes, structure {project.blob.structure}"
        facts = tables.facts(_with_bound({**data, **extra}, bool(rows)) | sparse)
        others: dict[str, Any] = {"model_sha256": project.model_sha256}
        others |= {"flash": project.flash(), "ports": project.ports(), "files": list(project.files)}
        report(data | others, facts)


def _slices(project: ExportedProject) -> dict[str, Any]:
    """The slices of a project that has some, for ``--json``."""
    return {} if project.slices is None else {"slices": project.slices.as_dict()}


def _blob(project: ExportedProject) -> dict[str, Any]:
    """The blob of a project that has one, for ``--json``."""
    return {} if project.blob is None else {"blob": project.blob.as_dict()}


def _selftest(project: ExportedProject) -> dict[str, Any]:
    """The golden vectors of a project that has some, for ``--json``."""
    return {} if project.selftest is None else {"selftest": project.selftest.as_dict()}


def _board(project: ExportedProject) -> dict[str, Any]:
    """The serial port of a project that has one, for ``--json``."""
    return {} if project.board is None else {"board": project.board.as_dict()}


def _audio(project: ExportedProject) -> dict[str, Any]:
    """What a project has for samples or frames, for ``--json``; nothing where it has neither."""
    made = {"audio": project.audio, "camera": project.camera}
    return {name: code.as_dict() for name, code in made.items() if code is not None}


def _with_bound(data: dict[str, Any], by_rows: bool) -> dict[str, object]:
    """The facts of an export, with the arena's bound behind it as ``inspect`` says it."""
    facts: dict[str, object] = {}
    for name, value in data.items():
        bound = name == "arena_lower_bound"
        facts |= tables.arena_bound(data["arena_bytes"], value, by_rows) if bound else {name: value}
    return facts


def _several(
    bundle: ExportedModels, options: ExportOptions, *, shared_arena: bool
) -> tuple[dict[str, Any], RenderableType]:
    """What ``--json`` says of several models, and their table."""
    data: dict[str, Any] = {
        "output": str(bundle.directory),
        "name": bundle.name,
        "identity": bundle.identity,
        "layout": options.layout,
        "arena_bytes": bundle.arena_bytes,
        "shared_arena": shared_arena,
        "models": {project.name: project.arena_bytes for project in bundle.models},
        "arena_lower_bounds": {p.name: p.arena_lower_bound for p in bundle.models},
        "row_by_row": {p.name: list(p.row_by_row) for p in bundle.models},
    }
    if options.slices is not None:
        data["slices"] = {project.name: _slices(project)["slices"] for project in bundle.models}
    if options.blob:
        data["blob"] = {project.name: _blob(project)["blob"] for project in bundle.models}
    if options.selftest is not None:
        data["selftest"] = {p.name: _selftest(p)["selftest"] for p in bundle.models}
    if options.board:
        data["board"] = {p.name: _board(p)["board"] for p in bundle.models}
    for kind in ("audio", "camera"):
        found = {p.name: _audio(p)[kind] for p in bundle.models if kind in _audio(p)}
        data |= {kind: found} if found else {}
    data["model_sha256"] = {project.name: project.model_sha256 for project in bundle.models}
    data["flash"] = {project.name: project.flash() for project in bundle.models}
    data["ports"] = {project.name: project.ports() for project in bundle.models}
    data["files"] = list(bundle.files)
    facts = {
        name: data[name]
        for name in ("output", "name", "identity", "layout", "arena_bytes", "shared_arena")
    }
    for project in bundle.models:
        each: dict[str, object] = {"arena bytes": project.arena_bytes}
        each |= tables.arena_bound(
            project.arena_bytes, project.arena_lower_bound, bool(project.segments)
        )
        each["row by row"] = ", ".join(project.row_by_row) or "-"
        each |= {} if project.slices is None else emulation_tables.slices(project.slices)
        facts |= {f"  {project.name}, {what}": text for what, text in each.items()}
    return data, tables.facts(facts)


def blob(
    model: Int8Model,
    project: Annotated[
        Path,
        typer.Option("--for", help="The exported folder, or NAME_blob.json in it."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The blob to write.")],
    revision: Annotated[
        int, typer.Option("--revision", help="A number that programs can read from it.", min=0)
    ] = 0,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Write a model's constants as a field update.

    It fits a project that was exported with --blob.
    """
    from tinyrt.export import make_blob

    with reporting(json, max_memory) as report:
        made = make_blob(model, project, output, revision=revision)
        data: dict[str, Any] = {
            "output": str(made.path),
            "name": made.name,
            "structure": made.structure,
            "revision": made.revision,
            "bytes": made.nbytes,
            "model_sha256": made.model_sha256,
        }
        report(data, tables.facts(data))
