"""Several models in one folder, with one library and, if they never run at once, one arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tinyrt.attached import front_end_of
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.entry import entry
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.export.bundle import render_model
from tinyrt.export.identity import IDENTITY, sealed, sha256_of
from tinyrt.export.info import labels_in
from tinyrt.export.layouts import Contents, arranged
from tinyrt.export.licence import licensed
from tinyrt.export.model import ARENA_ALIGNMENT, library_files
from tinyrt.export.names import add_files
from tinyrt.export.options import NO_OPTIONS, ExportOptions
from tinyrt.export.project import ExportedProject
from tinyrt.export.rendering import TEMPLATES, CFile, render_c
from tinyrt.export.request import Request
from tinyrt.folders import write_folder, written_files
from tinyrt.memory import Region
from tinyrt.memory.regions import ARENA


@dataclass(frozen=True, slots=True)
class ExportedModels:
    """The exported project of several models.

    Attributes:
        name: the library's name: the folder's name as a C identifier.
        directory: the folder.
        models: one entry per model.
        regions: name and size of each region of the arena that all models share; none where each
            model has its own.
        identity: eight hexadecimal digits that all its symbols hold, and no other export's.
        files: the names of all files in the folder that tinyrt wrote, sorted.

    """

    name: str
    directory: Path
    models: tuple[ExportedProject, ...]
    regions: tuple[Region, ...]
    identity: str = ""
    files: tuple[str, ...] = ()

    @property
    def arena_bytes(self) -> int:
        """Size of the shared arena, or of all arenas together."""
        if self.regions:
            return sum(region.nbytes or 0 for region in self.regions)
        return sum(model.arena_bytes for model in self.models)


@entry
def export_several(
    model_paths: Sequence[str | Path],
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
    shared_arena: bool = False,
) -> ExportedModels:
    """Write one C project for several .tflite models; it holds shared kernels once.

    Args:
        model_paths: .tflite files, whose names differ.
        out_dir: the folder to write; its name becomes the library's.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``, of the code.
        options: what else is asked for, of each model alike; a name where there is one model.
        shared_arena: write a header that declares an arena as large as the largest one, for models
            that do not run at the same time.

    Raises:
        UnsupportedError: two models have the same name, or one cannot be exported.
        TinyrtError: as ``export_c``.

    """
    directory = Path(out_dir)
    if options.name is not None and len(model_paths) > 1:
        raise UnsupportedError(
            f"{len(model_paths)} models cannot all be called '{options.name}'",
            expected="one model where a name is given",
            hint="leave the name out, or give a prefix, which stands before each model's own name",
        )
    request = Request.of(core, optimize, options)
    projects: list[ExportedProject] = []
    own: dict[str, CFile] = {}
    for path in model_paths:
        with error_context(file=str(path)):
            graph, digest = read_tflite(path), sha256_of(Path(path))
            front_end = front_end_of(path)
            project, files = render_model(graph, directory, request, digest, front_end)
            if options.info:
                files |= project.info_files(graph.name, labels_in(Path(path)))
            if any(project.name == other.name for other in projects):
                raise UnsupportedError(
                    f"two models are called '{project.name}'",
                    expected="a name for each: the prefix of its functions",
                    hint="rename one of the files, or export it apart with a name of its own",
                )
        projects.append(project)
        add_files(own, files, project.name)
    library = options.naming.library(directory)
    kernels = list(dict.fromkeys(k for project in projects for k in project.kernels))
    regions = _largest(projects) if shared_arena else ()
    if shared_arena:
        alignment = max(ARENA_ALIGNMENT, options.memories.alignment)
        context = {
            "library": library,
            "LIBRARY": library.upper(),
            "identity": IDENTITY,
            "models": [project.name for project in projects],
            "regions": regions,
            "alignment": alignment,
        }
        header = render_c(TEMPLATES, "arena.h.j2", context)
        add_files(own, {f"{library}_arena.h": header}, library)
    models = [project.name for project in projects]
    texts = {name: file.text for name, file in own.items()}
    texts |= library_files(
        *(library, models, kernels, request.core, request.optimize),
        has_arena=shared_arena,
        has_info=options.info,
        has_blob=options.blob,
        layout=request.layout,
        has_selftest=options.selftest is not None,
        has_board=options.board,
        takes_samples=[name for project in projects for name in project.sample_files],
    )
    what = f"{library}, {len(projects)} models"
    contents = Contents(library, request.core, request.optimize, what, projects)
    identity, texts = sealed(licensed(arranged(texts, request.layout, contents)))
    written: dict[str, str | bytes] = {**texts}
    for project in projects:
        written |= project.blob_files(request)
    write_folder(directory, written)
    models_of = tuple(replace(project, identity=identity) for project in projects)
    names = written_files(written)
    return ExportedModels(library, directory, models_of, regions, identity, names)


def _largest(projects: Sequence[ExportedProject]) -> tuple[Region, ...]:
    """Each region, as large as the largest that any model needs."""
    several = len(projects[0].regions) > 1
    return tuple(
        Region(same[0].name if several else ARENA, max(region.nbytes or 0 for region in same))
        for same in zip(*(project.regions for project in projects), strict=True)
    )
