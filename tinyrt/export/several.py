"""Several models in one folder, with one library and, if they never run at once, one arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.entry import entry
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.export.bundle import ExportedProject, Request, Rows, render_model
from tinyrt.export.memories import Memories
from tinyrt.export.model import ARENA_ALIGNMENT, library_files
from tinyrt.export.names import add_files, identifier
from tinyrt.export.rendering import TEMPLATES, CFile, render_c
from tinyrt.folders import write_folder
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

    """

    name: str
    directory: Path
    models: tuple[ExportedProject, ...]
    regions: tuple[Region, ...]

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
    max_arena: int | None = None,
    by_rows: bool = False,
    input_rows: bool = False,
    memories: Memories | None = None,
    shared_arena: bool = False,
) -> ExportedModels:
    """Write one C project for several .tflite models; it holds shared kernels once.

    Args:
        model_paths: .tflite files, whose names differ.
        out_dir: the folder to write; its name becomes the library's.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``, of the code.
        max_arena: bytes that each model's arena may take; None for any number.
        by_rows: whether ops may run row by row, where that makes an arena smaller.
        input_rows: whether the models' inputs are pushed row by row; inferences of models that
            share an arena still take turns, from ``begin`` to the last row.
        memories: which memory there is and what lies in it, for each model alike.
        shared_arena: write a header that declares an arena as large as the largest one, for models
            that do not run at the same time.

    Raises:
        UnsupportedError: two models have the same name, or one cannot be exported.
        TinyrtError: as ``export_c``.

    """
    directory = Path(out_dir)
    request = Request.of(core, optimize, max_arena, Rows(by_rows, input_rows), memories)
    projects: list[ExportedProject] = []
    own: dict[str, CFile] = {}
    for path in model_paths:
        with error_context(file=str(path)):
            project, files = render_model(read_tflite(path), directory, request)
            if any(project.name == other.name for other in projects):
                raise UnsupportedError(
                    f"two models are called '{project.name}'",
                    expected="a name for each: the prefix of its functions",
                    hint="rename one of the files",
                )
        projects.append(project)
        add_files(own, files, project.name)
    library = identifier(directory.resolve().name)
    kernels = list(dict.fromkeys(k for project in projects for k in project.kernels))
    regions = _largest(projects) if shared_arena else ()
    if shared_arena:
        alignment = max(ARENA_ALIGNMENT, memories.alignment if memories else 0)
        context = {
            "library": library,
            "LIBRARY": library.upper(),
            "models": [project.name for project in projects],
            "regions": regions,
            "alignment": alignment,
        }
        header = render_c(TEMPLATES, "arena.h.j2", context)
        add_files(own, {f"{library}_arena.h": header}, library)
    models = [project.name for project in projects]
    texts = {name: file.text for name, file in own.items()}
    texts |= library_files(library, models, kernels, request.core, request.optimize)
    write_folder(directory, texts)
    return ExportedModels(library, directory, tuple(projects), regions)


def _largest(projects: Sequence[ExportedProject]) -> tuple[Region, ...]:
    """Each region, as large as the largest that any model needs."""
    several = len(projects[0].regions) > 1
    return tuple(
        Region(same[0].name if several else ARENA, max(region.nbytes or 0 for region in same))
        for same in zip(*(project.regions for project in projects), strict=True)
    )
