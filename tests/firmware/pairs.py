"""Two exported folders in one image, each with an arena of its own between canaries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tinyrt.emulate import Image, run_image, toolchain
from tinyrt.emulate.blocks import script_context
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.image import (
    FIRMWARE,
    HARNESS_FLAGS,
    HARNESS_SOURCES,
    LIBC,
    LINK_FLAGS,
    MACHINE_FLAGS,
    bring_harness,
    bring_model,
    compile_harness,
)
from tinyrt.emulate.run import unpack_outputs
from tinyrt.emulate.sizes import sizes_of_image
from tinyrt.export import Core, ExportedProject, Port, export_c, find_core
from tinyrt.export.rendering import render
from tinyrt.memory import Region

CORES = ("cortex-m0", "cortex-m4", "cortex-m55")
"""In this order: each runs the code that is written for those before it."""

LIBRARY = "lib{name}.a"

CALL = """#include "{name}.h"
int {which}_run(void *x, void *y, void *arena);
int {which}_run(void *x, void *y, void *arena) {{
    return {name}_invoke(&({name}_io_t){{x, y}}, arena);
}}
"""

HEADER = """#include <stdint.h>
#define PAIR_ARENA_BYTES ({0.arena_bytes} + {1.arena_bytes})
#define PAIR_FIRST_BYTES {0.arena_bytes}
#define PAIR_SECOND_BYTES {1.arena_bytes}
#define PAIR_INPUT_0_BYTES {0.inputs[0].nbytes}
#define PAIR_INPUT_1_BYTES {1.inputs[0].nbytes}
#define PAIR_OUTPUT_0_BYTES {0.outputs[0].nbytes}
#define PAIR_OUTPUT_1_BYTES {1.outputs[0].nbytes}
typedef struct {{ void *input_0, *input_1, *output_0, *output_1; }} pair_io_t;
typedef struct {{ void *first, *second; }} pair_arena_t;
int pair_invoke(const pair_io_t *io, const pair_arena_t *arena);
"""

SOURCE = """#include "pair.h"
int first_run(void *x, void *y, void *arena);
int second_run(void *x, void *y, void *arena);
int pair_invoke(const pair_io_t *io, const pair_arena_t *arena) {
    const int status = first_run(io->input_0, io->output_0, arena->first);
    return status ? status : second_run(io->input_1, io->output_1, arena->second);
}
"""

MORE_FLASH = "    MORE (rx) : ORIGIN = 0x01000000, LENGTH = 2M\n"
"""Of mps3-an547, for weights that do not fit into the memory that it starts from."""


class Pairs:
    """Exports models, builds them once for each core, and links any two."""

    def __init__(self, zoo: Path, folder: Path) -> None:
        self._zoo, self._folder = zoo, folder
        self._projects: dict[tuple[str, str], ExportedProject] = {}

    def project(self, model: str, core: str) -> ExportedProject:
        """A model of the zoo for a core, exported under its own name."""
        if (model, core) not in self._projects:
            folder = self._folder / f"{model}-{core}"
            path = self._zoo / "models" / f"{model}_int8.tflite"
            self._projects[model, core] = export_c(path, folder, core=core)
        return self._projects[model, core]

    def library(self, project: ExportedProject) -> Path:
        """The project's library, compiled once."""
        target, build = project.core, project.directory / "build"
        library = build / LIBRARY.format(name=project.name)
        if not library.exists():
            toolchain.run(
                [
                    *("make", "-s", "-C", project.directory, f"CC={target.compiler}"),
                    *(f"AR={target.archiver}", f"TARGET_FLAGS={' '.join(target.flags)}"),
                    f"BUILD={build}",
                ],
                doing="building",
            )
        return library

    def link(
        self,
        both: tuple[ExportedProject, ExportedProject],
        libraries: list[Path],
        core: str,
        *options: str,
    ) -> tuple[Image, ExportedProject]:
        """The image, with its libraries in that order, and what the harness knows of it."""
        folder = self._folder / "image"
        folder.mkdir(exist_ok=True)
        target = find_core(core)
        pair = _written(both, folder, target)
        board = find_board(target)
        bring_harness(pair, folder, (FIRMWARE, FIRMWARE / "arm"))
        bring_model(pair, folder)
        _run_samples_only(folder / "harness_main.c")
        flags = (*HARNESS_FLAGS, *MACHINE_FLAGS["arm"], "-DHARNESS_GUARD_BYTES=4096")
        names = compile_harness(pair, folder, HARNESS_SOURCES, flags)
        objects = [folder / name for name in names]
        for name, of in (("first", both[0]), ("second", both[1]), ("pair", pair)):
            own = ["-iquote", of.directory, "-iquote", folder, "-c", folder / f"{name}.c"]
            objects.append(folder / f"{name}.o")
            command = [target.compiler, *target.flags, "-O2", *own, "-o", objects[-1]]
            toolchain.run(command, doing="compiling")
        script = render(FIRMWARE, "image.ld.j2", script_context([pair.name], None, board))
        if core == "cortex-m55":
            weights = next(line for line in script.splitlines() if ".weights :" in line)
            script = script.replace("    RAM (rwx)", f"{MORE_FLASH}    RAM (rwx)")
            script = script.replace(weights, weights.replace("> FLASH", "> MORE"))
        (folder / "image.ld").write_text(script)
        image = folder / "image.elf"
        command = [
            target.compiler,
            *target.flags,
            *target.link_flags,
            *LINK_FLAGS,
            *LIBC[board.machine],
        ]
        command += ["-T", folder / "image.ld", *options, *objects, *libraries, "-lm", "-o", image]
        toolchain.run(command, doing="linking")
        return Image(image, board, sizes_of_image(image, target), None), pair

    def check(self, first: tuple[str, str], second: tuple[str, str]) -> None:
        """Both are exact in one image, whichever library comes first, canaries intact."""
        core = max(first[1], second[1], key=CORES.index)
        both = (self.project(*first), self.project(*second))
        libraries = [self.library(project) for project in both]
        golden = [self._golden(name) for name, _ in (first, second)]
        data = b"".join(inputs.tobytes() for inputs, _ in golden)
        for order in (libraries, libraries[::-1]):
            image, pair = self.link(both, order, core, "-Wl,--no-warn-mismatch")
            outputs = run_image(image, data, image.path.parent).outputs
            found = unpack_outputs(pair.outputs, outputs, 1)
            for name, (_, expected) in zip(("y0", "y1"), golden, strict=True):
                np.testing.assert_array_equal(found[name].reshape(expected.shape), expected)

    def _golden(self, model: str) -> tuple[np.ndarray, np.ndarray]:
        with np.load(self._zoo / "golden" / f"{model}_int8.npz") as file:
            return file["inputs"][0], file["outputs"][0]


def _written(
    both: tuple[ExportedProject, ExportedProject], folder: Path, target: Core
) -> ExportedProject:
    """The sources that call both models, as a project of two arenas, and tensors beside them."""
    (folder / "pair.h").write_text(HEADER.format(*both))
    (folder / "pair.c").write_text(SOURCE)
    for which, project in zip(("first", "second"), both, strict=True):
        (folder / f"{which}.c").write_text(CALL.format(name=project.name, which=which))

    def ports(kind: str, letter: str) -> tuple[Port, ...]:
        of = [getattr(project, kind)[0] for project in both]
        return tuple(replace(p, name=f"{letter}{i}", offset=None) for i, p in enumerate(of))

    sizes = [project.arena_bytes for project in both]
    return ExportedProject(
        *("pair", folder, target, sum(sizes), ports("inputs", "x"), ports("outputs", "y")),
        *((), 0),
        regions=(Region("first", sizes[0]), Region("second", sizes[1])),
    )


def _run_samples_only(main: Path) -> None:
    """Have the harness run samples without timing them, which takes four times as long."""
    text = main.read_text()
    assert text.count("\n    measure_time(inputs);") == 1
    main.write_text(text.replace("\n    measure_time(inputs);", "\n    (void)measure_time;"))
