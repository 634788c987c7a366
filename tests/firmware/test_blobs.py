"""Models whose constants lie in a blob, on emulated cores: exact, exchangeable, at what cost."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.c.conformance import all_int16_ops, all_ops
from tests.docs.pages import ROOT
from tests.export.blobs import trained_twice
from tests.firmware.device import check_on_device
from tests.firmware.test_zoo import MODELS, emulate
from tests.sampling import sampled
from tinyrt import load
from tinyrt.backends.c.blocks import relu
from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import pack_inputs, unpack_outputs
from tinyrt.export import ExportedProject, ExportOptions, Port, export_c, make_blob
from tinyrt.ir import DType

pytestmark = [pytest.mark.slow, pytest.mark.device]

CORES = ("cortex-m4", "cortex-m55", "cortex-m0")
COST = 0.01
"""Most instructions that a blob adds, as a share of all."""

DEARER = {("cortex-m4", "autoencoder_ad"): 0.016}
"""Where it costs more: one scale of all channels is read once, but for a blob, which may bring one
for each of them."""

ALL = [(core, name) for core in CORES for name in MODELS]
NUMBER = r"([\d,]+)"
ROW = re.compile(
    rf"^\| (\w+) \| (cortex-\w+) \| {NUMBER} \| {NUMBER} \| [\d.]+ % \| {NUMBER} \|$", re.MULTILINE
)


@pytest.mark.whole
@pytest.mark.parametrize(("core", "name"), ALL)
def test_a_blob_costs_little(zoo, tmp_path, core, name):
    """And as much as the documentation says."""
    plain, _ = emulate(zoo, name, tmp_path / "plain", core, samples=1)
    found, _ = emulate(zoo, name, tmp_path / "blob", core, samples=2, blob=True)
    assert found.bit_exact
    assert found.instructions <= (1 + DEARER.get((core, name), COST)) * plain.instructions
    assert found.ram.arena == plain.ram.arena
    assert found.ram.static == 0
    assert found.ram.stack <= found.ram.stack_bound
    without, having, stack = documented(core, name)
    assert plain.instructions == pytest.approx(without, rel=0.001)
    assert found.instructions == pytest.approx(having, rel=0.001)
    assert found.ram.stack - plain.ram.stack == pytest.approx(stack, abs=32)


def documented(core, name):
    """Instructions without and with a blob, and the stack that it adds, as the page says."""
    page = (ROOT / "docs" / "updates.md").read_text(encoding="utf-8")
    (row,) = [row for row in ROW.findall(page) if row[:2] == (name, core)]
    return [int(number.replace(",", "")) for number in row[2:]]


def test_the_page_has_every_model_on_every_core():
    for core, name in ALL:
        without, having, _ = documented(core, name)
        assert without < having <= (1 + DEARER.get((core, name), COST)) * without


@pytest.mark.whole
def test_slices_read_blobs(zoo, tmp_path):
    report, _ = emulate(zoo, "dscnn_kws", tmp_path, samples=1, blob=True, slices=100_000)
    assert report.bit_exact
    assert report.slices.longest <= 100_000
    _, whole, _ = documented("cortex-m4", "dscnn_kws")
    assert report.instructions <= 1.01 * whole
    # No layer's constants are there twice, whatever it is cut into.
    assert report.flash.weights <= 30_000


@pytest.mark.parametrize(
    ("core", "cases", "seeds"),
    sampled(
        [("cortex-m4", all_ops, 1)],
        [(core, cases, 3) for core in (*CORES, "rv32imc") for cases in (all_ops, all_int16_ops)],
    ),
)
def test_every_op_reads_its_constants_from_a_blob(tmp_path, core, cases, seeds):
    graph, feeds = cases(range(seeds))
    check_on_device(graph, feeds, tmp_path, core, blob=True)


SOURCE = """
#include "slot.h"
#include "mo.h"

int slot_invoke(const slot_io_t *io, void *arena) {
    uint8_t *const bytes = arena;
    const mo_io_t own = {(const int8_t *)bytes + SLOT_INPUT_1_OFFSET,
                         (int8_t *)bytes + SLOT_OUTPUT_1_OFFSET};
    mo_handle_t handle = {0};
    (void)io;
    int status = mo_open(&handle, bytes + SLOT_INPUT_0_OFFSET, SLOT_INPUT_0_BYTES);
    if (status == 0) {
        status = mo_invoke(&handle, &own, bytes);
    }
    *(int32_t *)(void *)(bytes + SLOT_OUTPUT_0_OFFSET) = status;
    return 0;
}
"""
MAKEFILE = """
$(BUILD)/libslot.a: slot.c
\t$(MAKE) -C mo BUILD=$(BUILD)/mo
\t$(CC) -O2 $(TARGET_FLAGS) -Imo -c slot.c -o $(BUILD)/slot.o
\t$(CC) $(TARGET_FLAGS) -r -nostdlib $(BUILD)/slot.o $(BUILD)/mo/libmo.a -o $(BUILD)/both.o
\t$(AR) rcs $@ $(BUILD)/both.o
"""


def slot_of(folder: Path, model: ExportedProject, nbytes: int) -> ExportedProject:
    """A program whose inputs are a blob and the model's input: no blob is linked to it."""
    end, ports = -(-model.arena_bytes // 64) * 64, []
    status = Port("status", DType.INT32, (1,), 0, 4, None, None)
    slot = Port("slot", DType.UINT8, (nbytes,), 0, nbytes, None, None)
    lines = ["#include <stdint.h>", "typedef struct { int8_t *tensors[4]; } slot_io_t;"]
    for name, port in (
        *(("INPUT_0", slot), ("INPUT_1", model.inputs[0])),
        *(("OUTPUT_0", status), ("OUTPUT_1", model.outputs[0])),
    ):
        ports.append(replace(port, name=f"{name.lower()}", offset=end))
        lines += [f"#define SLOT_{name}_OFFSET {end}", f"#define SLOT_{name}_BYTES {port.nbytes}"]
        end += -(-port.nbytes // 64) * 64
    lines += [
        f"#define SLOT_ARENA_BYTES {end}",
        "int slot_invoke(const slot_io_t *io, void *arena);",
    ]
    (folder / "slot.h").write_text("\n".join([*lines, ""]))
    (folder / "slot.c").write_text(SOURCE)
    (folder / "Makefile").write_text(MAKEFILE)
    places = tuple(ports[:2]), tuple(ports[2:])
    return ExportedProject("slot", folder, model.core, end, *places, (), model.macs)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("core", "name"),
    [(core, name) for core in CORES for name in ("dscnn_kws", "resnet8")],
)
def test_one_image_computes_with_one_blob_and_then_another(zoo, tmp_path, monkeypatch, core, name):
    """Blobs come as data, at an address of the program's; broken ones in between change nothing.

    Every other layer of the second model has no scales without a sign, as may happen.
    """
    models = trained_twice(zoo, name, tmp_path)
    model = export_c(
        models[0], tmp_path / "mo", core=core, options=ExportOptions(name="mo", blob=True)
    )
    one = blob_of(models[0], tmp_path / "mo", tmp_path / "0.blob")
    found, turn = relu.relu_scales, itertools.cycle((True, False))
    monkeypatch.setattr(relu, "relu_scales", lambda *args: found(*args) if next(turn) else None)
    other = blob_of(models[1], tmp_path / "mo", tmp_path / "1.blob")
    header, body, structure = one.copy(), other.copy(), other.copy()
    header[100] ^= 1
    body[-9] ^= 128
    structure[:128] = np.frombuffer((tmp_path / "0.blob").read_bytes()[:128], np.uint8)
    slots = [one, header, other, body, structure, one]
    pair = slot_of(tmp_path, model, one.size)
    data = np.random.default_rng(5).integers(-128, 128, (6, *model.inputs[0].shape[1:]), np.int8)
    packed, samples = pack_inputs(pair.inputs, {"input_0": np.array(slots), "input_1": data})
    found = run_image(build_image(pair, tmp_path), packed, tmp_path)
    outputs = unpack_outputs(pair.outputs, found.outputs, samples)
    assert outputs["output_0"].ravel().tolist() == [0, 71, 0, 73, 73, 0]
    first, second = (_answers(m, data) for m in models)
    expected = [first[0], first[0], second[2], second[2], second[2], first[5]]
    np.testing.assert_array_equal(outputs["output_1"].reshape(6, -1), expected)
    assert not np.array_equal(first[0], second[0])


def blob_of(model, project, path):
    """The bytes of a blob for the project."""
    return np.fromfile(make_blob(model, project, path).path, np.uint8)


def _answers(model, data):
    graph = load(model).graph
    (x,), (y,) = graph.input_values, graph.output_values
    return load(model).run_raw({x.name: data})[y.name].reshape(len(data), -1)
