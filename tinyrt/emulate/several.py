"""Several models in one image, each with a harness of its own: they run one after the other.

With a shared arena they also take turns in the harness's memory, so that each begins in what the
one before it has left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tinyrt.emulate import toolchain
from tinyrt.emulate.blocks import script_context
from tinyrt.emulate.boards import Board, board_for
from tinyrt.emulate.image import (
    FIRMWARE,
    HARNESS_SOURCES,
    INVOKE,
    PROGRAM,
    PROGRAM_SOURCES,
    Image,
    bring_harness,
    bring_model,
    link_image,
    link_program,
    write_source,
)
from tinyrt.emulate.qemu import run_parts
from tinyrt.emulate.report import EmulationReport
from tinyrt.emulate.run import OPTIONS, Arrays, pack_inputs, report_of
from tinyrt.emulate.sizes import sizes_of_image, sizes_of_library
from tinyrt.emulate.stack import CALL_GRAPH_FLAG, stack_bound
from tinyrt.export import (
    ExportedModels,
    ExportedProject,
    ExportOptions,
    export_several,
    find_core,
)
from tinyrt.export.options import NO_OPTIONS
from tinyrt.export.rendering import render
from tinyrt.files import make_folder
from tinyrt.tools import EMULATOR_S

TURNS = "harness_several.c"
"""The source that runs one model after the other."""


def run_emulated_several(
    model_paths: Sequence[str | Path],
    *,
    inputs: Sequence[Arrays],
    build_dir: str | Path,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
    board: str | None = None,
    expected: Sequence[Arrays] | None = None,
    shared_arena: bool = False,
    timeout_s: float = EMULATOR_S,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, EmulationReport]:
    """Run the C code of several models in one image; see ``run_emulated``.

    Args:
        model_paths: .tflite files, whose names differ.
        inputs: of each model.
        build_dir: as for one model.
        core: as for one model.
        optimize: as for one model.
        options: as for one model, for each.
        board: as for one model.
        expected: of each model: output name -> what the host answers, samples first.
        shared_arena: whether the models take turns in the same memory.
        timeout_s: when to give up on the emulator, in seconds.
        progress: called now and then with bytes of output written, and bytes in all.

    Returns:
        The model's name in C -> its report. Flash and static RAM are those of the whole image.

    Raises:
        TinyrtError: as for one model.

    """
    options.require_only(OPTIONS, "an emulation")
    target = find_core(core)
    place = board_for(target, board)
    build = make_folder(build_dir)
    bundle = export_several(
        *(model_paths, build / "model"),
        core=target.name,
        optimize=optimize,
        options=options,
        shared_arena=shared_arena,
    )
    packed = [pack_inputs(p.inputs, each) for p, each in zip(bundle.models, inputs, strict=True)]
    image, bounds = build_several(bundle, build, board=place)
    parts = {f"_{p.name}": data for p, (data, _) in zip(bundle.models, packed, strict=True)}
    sizes = [sum(port.nbytes for port in project.outputs) for project in bundle.models]
    total = sum(nbytes * n for nbytes, (_, n) in zip(sizes, packed, strict=True))
    runs = run_parts(
        *(image, parts, build),
        timeout_s=timeout_s,
        progress=progress and (lambda nbytes: progress(nbytes, total)),
    )
    answers: Sequence[Arrays | None] = expected or [None] * len(packed)
    return {
        project.name: report_of(
            project,
            replace(image, stack_bound=bounds.get(project.name)),
            runs[f"_{project.name}"],
            samples,
            answer,
        )
        for project, (_, samples), answer in zip(bundle.models, packed, answers, strict=True)
    }


def build_several(
    bundle: ExportedModels, build_dir: Path, *, board: Board | None
) -> tuple[Image, Mapping[str, int | None]]:
    """The image of several models, and by each name the most stack that an inference can use.

    Raises:
        ToolError: a tool is missing, or something does not compile or fit into the board.

    """
    models = bundle.models
    library = replace(models[0], name=bundle.name)
    core = library.core
    toolchain.require(core.compiler, core.archiver, f"{core.prefix}size", "make")
    toolchain.require_core(core)
    folder = make_folder(build_dir / "image") if board else build_dir
    own = (FIRMWARE, FIRMWARE / board.machine) if board else (FIRMWARE / "host",)
    bring_harness(library, folder, own)
    several = _bring_models(bundle, library, folder)
    if board is None:
        archive = link_program(library, folder, several)
        return Image(folder / PROGRAM, None, sizes_of_library(archive, models, core), None), {}
    names = [project.name for project in models]
    script = script_context(names, library.weights_section, board)
    others = tuple(source for source in HARNESS_SOURCES if source not in PROGRAM_SOURCES)
    hooks = (CALL_GRAPH_FLAG,)
    path = link_image(library, folder, board, (*others, *several), script, (hooks, hooks))
    bounds = {name: stack_bound(folder, path, f"{INVOKE}_{name}", core) for name in names}
    return Image(path, board, sizes_of_image(path, core), None), bounds


def _bring_models(
    bundle: ExportedModels, library: ExportedProject, folder: Path
) -> tuple[str, ...]:
    """Write a harness for each model and what runs them; returns the names of the sources."""
    names = [project.name for project in bundle.models]
    shared = bool(bundle.regions)
    for number, project in enumerate(bundle.models):
        name = project.name
        bring_model(project, folder, f"harness_model_{name}.h")
        context: dict[str, Any] = {"name": name, "shared": shared, "first": number == 0}
        text = render(FIRMWARE, "harness_one.c.j2", context)
        write_source(library, folder / f"harness_main_{name}.c", text)
    text = render(FIRMWARE, "harness_several.c.j2", {"names": names})
    write_source(library, folder / TURNS, text)
    return (TURNS, *[f"harness_main_{name}.c" for name in names])
