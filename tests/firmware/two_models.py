"""Two exported models in one image, called by C code of a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import pack_inputs, unpack_outputs
from tinyrt.export import ExportedProject

FIRST, SECOND = "autoencoder_ad_int8", "dscnn_kws_int8"

MAKEFILE = """
LIBRARIES = $(BUILD)/first/libautoencoder_ad_int8.a $(BUILD)/second/libdscnn_kws_int8.a

$(BUILD)/libpair.a: pair.c
\t$(MAKE) -C first BUILD=$(BUILD)/first
\t$(MAKE) -C second BUILD=$(BUILD)/second
\t$(CC) -O2 $(TARGET_FLAGS) -Ifirst -Isecond -c pair.c -o $(BUILD)/pair.o
\t$(CC) $(TARGET_FLAGS) -r -nostdlib $(BUILD)/pair.o $(LIBRARIES) -o $(BUILD)/both.o
\t$(AR) rcs $@ $(BUILD)/both.o
"""


def pair_of(
    folder: Path, models: Sequence[ExportedProject], source: str, end: int, *defines: str
) -> ExportedProject:
    """A project that calls both models, which lie in its folders ``first`` and ``second``.

    Args:
        folder: of the project.
        models: both of them.
        source: defines ``pair_invoke``.
        end: bytes that the models take; the project's tensors lie behind them.
        defines: further lines of its header.

    """
    lines = ["#include <stdint.h>", "typedef struct { int8_t *tensors[4]; } pair_io_t;"]
    ports = []
    for kind in ("inputs", "outputs"):
        for i, project in enumerate(models):
            (port,) = getattr(project, kind)
            ports.append(replace(port, name=f"{kind}{i}", offset=end))
            name = f"PAIR_{kind[:-1].upper()}_{i}"
            lines += [f"#define {name}_OFFSET {end}", f"#define {name}_BYTES {port.nbytes}"]
            end += port.nbytes
    lines += [f"#define PAIR_ARENA_BYTES {end}", *defines]
    lines += ["int pair_invoke(const pair_io_t *io, void *arena);"]
    for name, text in (("pair.h", "\n".join(lines) + "\n"), ("pair.c", source)):
        (folder / name).write_text(text)
    (folder / "Makefile").write_text(MAKEFILE)
    core = models[0].core
    return ExportedProject(
        "pair", folder, core, end, tuple(ports[:2]), tuple(ports[2:]), (), models[0].macs
    )


def assert_golden(zoo: Path, pair: ExportedProject, folder: Path, count: int | None = None) -> None:
    """Both models answer as their golden files say, on all samples or on so many."""
    golden = [np.load(zoo / "golden" / f"{name}.npz") for name in (FIRST, SECOND)]
    feeds = {
        port.name: file["inputs"].reshape(-1, *port.shape[1:])[:count]
        for port, file in zip(pair.inputs, golden, strict=True)
    }
    packed, samples = pack_inputs(pair.inputs, feeds)
    found = run_image(build_image(pair, folder), packed, folder)
    outputs = unpack_outputs(pair.outputs, found.outputs, samples)
    for port, file in zip(pair.outputs, golden, strict=True):
        expected = file["outputs"].reshape(-1, *port.shape[1:])[:samples]
        np.testing.assert_array_equal(outputs[port.name], expected)
