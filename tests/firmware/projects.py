"""Hand-written stand-ins for exported projects, to see what the harness makes of bad models."""

from __future__ import annotations

from pathlib import Path

from tinyrt.export import ExportedProject, Port, find_core
from tinyrt.ir import DType

ARENA_BYTES = 67
"""Not a multiple of any word, so that the canaries must lie right beside it."""

HEADER = """
#include <stdint.h>
#define FAKE_ARENA_BYTES 67
#define FAKE_INPUT_0_OFFSET 0
#define FAKE_INPUT_0_BYTES 4
#define FAKE_OUTPUT_0_OFFSET 4
#define FAKE_OUTPUT_0_BYTES 4
typedef struct { const int8_t *input_0; int8_t *output_0; } fake_io_t;
int fake_invoke(const fake_io_t *io, void *arena);
"""

MAKEFILE = """
$(BUILD)/libfake.a: fake.c fake_weights.c
\tmkdir -p $(BUILD)
\tcd $(BUILD) && $(CC) -O2 $(TARGET_FLAGS) -ffunction-sections -masm-syntax-unified \\
\t    -c $(abspath fake.c fake_weights.c)
\t$(AR) rcs $@ $(BUILD)/fake.o $(BUILD)/fake_weights.o
"""


def fake_project(directory: Path, body: str, *, declarations: str = "") -> ExportedProject:
    """A project whose invoke function has this body; ``arena`` is a ``uint8_t *``."""
    directory.mkdir()
    (directory / "fake.h").write_text(HEADER)
    (directory / "Makefile").write_text(MAKEFILE)
    (directory / "fake_weights.c").write_text("const signed char fake_weights[100] = {1};\n")
    (directory / "fake.c").write_text(
        f'#include "fake.h"\n{declarations}\n'
        "extern const signed char fake_weights[100];\n"
        "int fake_invoke(const fake_io_t *io, void *start) {\n"
        f"uint8_t *arena = start; (void)io; (void)arena;\n{body}\n"
        "return fake_weights[0] - 1;\n}\n"
    )
    port = {"dtype": DType.INT8, "shape": (1, 4), "nbytes": 4, "scale": 1.0, "zero_point": 0}
    return ExportedProject(
        name="fake",
        directory=directory,
        core=find_core("cortex-m4"),
        arena_bytes=ARENA_BYTES,
        inputs=(Port(name="x", offset=0, **port),),
        outputs=(Port(name="y", offset=4, **port),),
        kernels=(),
        macs=0,
    )
