"""Two exported models in one image, taking turns in one arena, with tensors outside of it."""

from dataclasses import replace

import numpy as np
import pytest

from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import pack_inputs, unpack_outputs
from tinyrt.export import ExportedProject, export_c

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

SOURCE = """
#include "pair.h"
#include "autoencoder_ad_int8.h"
#include "dscnn_kws_int8.h"

int pair_invoke(const pair_io_t *io, void *arena) {
    int8_t *bytes = arena;
    const autoencoder_ad_int8_io_t first = {bytes + PAIR_INPUT_0_OFFSET,
                                            bytes + PAIR_OUTPUT_0_OFFSET};
    const dscnn_kws_int8_io_t second = {bytes + PAIR_INPUT_1_OFFSET,
                                        bytes + PAIR_OUTPUT_1_OFFSET};
    (void)io;
    return autoencoder_ad_int8_invoke(&first, arena) || dscnn_kws_int8_invoke(&second, arena);
}
"""


@pytest.fixture
def pair(zoo, tmp_path):
    """A project that calls both models; its tensors lie behind the arena that these share."""
    folder = tmp_path / "pair"
    first = export_c(zoo / "models" / f"{FIRST}.tflite", folder / "first")
    second = export_c(zoo / "models" / f"{SECOND}.tflite", folder / "second")
    end = max(first.arena_bytes, second.arena_bytes)
    lines = ["#include <stdint.h>", "typedef struct { int8_t *tensors[4]; } pair_io_t;"]
    ports = []
    for kind in ("inputs", "outputs"):
        for i, project in enumerate((first, second)):
            (port,) = getattr(project, kind)
            ports.append(replace(port, name=f"{kind}{i}", offset=end))
            name = f"PAIR_{kind[:-1].upper()}_{i}"
            lines += [f"#define {name}_OFFSET {end}", f"#define {name}_BYTES {port.nbytes}"]
            end += port.nbytes
    lines += [
        f"#define PAIR_ARENA_BYTES {end}",
        "int pair_invoke(const pair_io_t *io, void *arena);",
    ]
    (folder / "pair.h").write_text("\n".join(lines) + "\n")
    (folder / "pair.c").write_text(SOURCE)
    (folder / "Makefile").write_text(MAKEFILE)
    return ExportedProject(
        "pair", folder, first.core, end, tuple(ports[:2]), tuple(ports[2:]), (), first.macs
    )


def test_two_models_share_image_and_arena(zoo, tmp_path, pair):
    golden = [np.load(zoo / "golden" / f"{name}.npz") for name in (FIRST, SECOND)]
    feeds = {
        port.name: file["inputs"].reshape(-1, *port.shape[1:])
        for port, file in zip(pair.inputs, golden, strict=True)
    }
    packed, samples = pack_inputs(pair.inputs, feeds)
    found = run_image(build_image(pair, tmp_path), packed, tmp_path)
    outputs = unpack_outputs(pair.outputs, found.outputs, samples)
    for port, file in zip(pair.outputs, golden, strict=True):
        expected = file["outputs"].reshape(samples, *port.shape[1:])
        np.testing.assert_array_equal(outputs[port.name], expected)
