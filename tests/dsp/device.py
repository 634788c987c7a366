"""Exported front ends: as a program of this machine under sanitizers, and as an image in QEMU."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.c.host import ABORT
from tests.export.program import build_program as exported_program
from tests.firmware.device import require_core
from tinyrt.dsp import LogMel
from tinyrt.emulate import Image, Run, build_image, run_image
from tinyrt.export import (
    ExportedFrontEnd,
    ExportedProject,
    Port,
    export_front_end,
    find_core,
)
from tinyrt.ir import DType

RESET, MISUSE = -1, -2
"""What ``program.c`` takes for a number of samples."""


def build_program(front: LogMel, folder: Path, *, core: str = "host", options=()) -> Path:
    """The front end as a program, see ``program.c``."""
    project = export_front_end(front, folder / "project", core=core)
    return exported_program(project, Path(__file__).parent / "program.c", folder, *options)


def run_program(program: Path, pieces) -> bytes:
    """What the program writes for pieces of samples int16 (n,), RESET or MISUSE."""
    parts = []
    for piece in pieces:
        count = piece if isinstance(piece, int) else len(piece)
        parts += [np.int32(count).tobytes(), b"" if isinstance(piece, int) else piece.tobytes()]
    environment = os.environ | ABORT
    done = subprocess.run(
        [program], input=b"".join(parts), capture_output=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def features_of(program: Path, front: LogMel, pieces) -> np.ndarray:
    """Features (frames, features of a frame)."""
    return np.frombuffer(run_program(program, pieces), dtype_of(front)).reshape(-1, front.features)


def dtype_of(front: LogMel) -> str:
    """Of features in memory."""
    return "<i2" if front.is_signed else "<u2"


INVOKE = """
#include "front_end.h"
#include "clip.h"

/* All samples from a new beginning, in pieces; the state and the memory for work are the arena. */
int clip_invoke(const clip_io_t *io, void *arena) {{
    (void)io;
    uint8_t *const bytes = arena;
    void *const state = bytes + CLIP_STATE;
    void *const work = bytes + CLIP_STATE + FRONT_END_STATE_BYTES;
    const int16_t *samples = arena;
    front_end_feature_t *features = (void *)(bytes + CLIP_OUTPUT_0_OFFSET);
    int status = front_end_reset(state);
    for (int32_t left = {samples}, used, full; status == 0 && left > 0; left -= used) {{
        const int32_t count = left < {piece} ? left : {piece};
        status = front_end_push_audio(samples, count, &used, &full, features, state, work);
        samples += used;
        features += full ? FRONT_END_FEATURES : 0;
    }}
    return status;
}}
"""

HEADER = """
#include <stdint.h>
#define CLIP_ARENA_BYTES {arena}
#define CLIP_STATE {state}
#define CLIP_INPUT_0_OFFSET 0
#define CLIP_INPUT_0_BYTES {inputs}
#define CLIP_OUTPUT_0_OFFSET {output}
#define CLIP_OUTPUT_0_BYTES {outputs}
typedef struct {{ const int8_t *input_0; int8_t *output_0; }} clip_io_t;
int clip_invoke(const clip_io_t *io, void *arena);
"""

MAKE = """
$(BUILD)/libclip.a: $(BUILD)/LIBRARY.a $(BUILD)/clip.o $(BUILD)/clip_weights.o
\tcp $< $@
\t$(AR) r $@ $(BUILD)/clip.o $(BUILD)/clip_weights.o
"""


@dataclass(frozen=True)
class OnCore:
    """What a front end did on a core.

    Attributes:
        features: of each clip, (clips, frames, features of a frame).
        instructions: for each clip.
        stack_bytes: most stack.
        code_bytes: flash for code and constants.
        project: the export.

    """

    features: np.ndarray
    instructions: int
    stack_bytes: int
    code_bytes: int
    project: ExportedFrontEnd


def run_on_core(
    front: LogMel, clips: np.ndarray, core: str, folder: Path, *, piece: int = 1 << 20, prepare=None
) -> OnCore:
    """Clips int16 (clips, samples) on an emulated core, each from a new beginning, in pieces.

    ``prepare`` may change the project before it is built.
    """
    require_core(core)
    project = export_front_end(front, folder / "project", core=core)
    count, samples = clips.shape
    frames = front.frames(samples)
    memory = project.state_bytes + project.work_bytes
    invoke = INVOKE.format(samples=samples, piece=piece)
    image, found = run_invoke(
        project.directory,
        "front_end",
        core,
        folder,
        invoke,
        clips,
        memory,
        2 * frames * front.features,
    )
    features = np.frombuffer(found.outputs, dtype_of(front)).reshape(count, frames, front.features)
    code = image.sizes.code + image.sizes.weights
    return OnCore(features, found.instructions, found.stack_bytes, code, project)


def run_invoke(
    there: Path,
    library: str,
    core: str,
    folder: Path,
    invoke: str,
    data: np.ndarray,
    memory: int,
    outputs: int,
    prepare=None,
) -> tuple[Image, Run]:
    """Run ``clip_invoke`` on an emulated core for each row of data.

    Args:
        there: an exported folder.
        library: the name of its library.
        core: the core's name.
        folder: where to build.
        invoke: the function's source.
        data: its input, which lies at the arena's start.
        memory: bytes of the arena from ``CLIP_STATE`` on.
        outputs: bytes of its output, which lie behind.
        prepare: changes the project before it is built; None for nothing.

    """
    inputs = data[0].nbytes
    state = -(-inputs // 8) * 8
    output = state + memory
    sizes = {"state": state, "inputs": inputs, "output": output, "outputs": outputs}
    arena = output + outputs
    (there / "clip.h").write_text(HEADER.format(arena=arena, **sizes))
    (there / "clip.c").write_text(invoke)
    (there / "clip_weights.c").write_text("extern const signed char clip_none;\n")
    own = (there / "Makefile").read_text()
    make = MAKE.replace("LIBRARY", f"lib{library}")
    (there / "Makefile").write_text(f"all: $(BUILD)/libclip.a\n{own}{make}")
    port = {"dtype": DType.INT8, "scale": 1.0, "zero_point": 0}
    clip = ExportedProject(
        name="clip",
        directory=there,
        core=find_core(core),
        arena_bytes=arena,
        inputs=(Port(name="x", offset=0, shape=(1, inputs), nbytes=inputs, **port),),
        outputs=(Port(name="y", offset=output, shape=(1, outputs), nbytes=outputs, **port),),
        kernels=(),
        macs=0,
    )
    if prepare is not None:
        prepare(clip)
    image = build_image(clip, folder)
    return image, run_image(image, data.tobytes(), folder)
