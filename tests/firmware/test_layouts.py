"""Folders for Zephyr and ESP-IDF, built by their own CMake files, boot and answer as the host."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import require_tool
from tests.export.layouts.stand_ins import by_cmake
from tests.firmware.device import check_image, require_core
from tests.graphs import small_cnn
from tests.quantize.test_mixed import samples
from tinyrt.emulate import build_image, image, run_image
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import ExportOptions, export_graph, find_core
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.quantize import QuantConfig, quantize_graph

pytestmark = [pytest.mark.device, pytest.mark.slow]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("layout", "core"),
    [("zephyr", "cortex-m4"), ("esp-idf", "rv32imc")],
)
def test_answers_are_the_hosts(layout, core, tmp_path, monkeypatch):
    require_tool("cmake")
    require_core(core)
    graph = quantize_graph(small_cnn(), samples(100), QuantConfig())
    project = export_graph(graph, tmp_path / "lib", core=core, options=ExportOptions(layout=layout))

    def built(project, folder, flags=()):
        build = tmp_path / "made"  # with the example, which has variables
        build.mkdir()
        options = " ".join((*flags, "-ffunction-sections -fdata-sections"))
        by_cmake(layout, tmp_path / "lib", "net", find_core(core), build, options)
        names = {"zephyr": "libtinyrt_net.a", "esp-idf": "liblib.a"}
        (library,) = build.rglob(names[layout])
        return Path(shutil.copy(library, folder))

    monkeypatch.setattr(image, "build_library", built)
    (tmp_path / "build").mkdir()
    made = build_image(replace(project, directory=tmp_path / "lib" / "src"), tmp_path / "build")
    check_image(made, find_core(core))
    (port,) = project.inputs
    x = np.random.default_rng(7).integers(-128, 128, (3, *port.shape), np.int8)
    found = run_image(made, x.tobytes(), tmp_path)
    outputs = unpack_outputs(project.outputs, found.outputs, 3)
    for i, sample in enumerate(x):
        for name, expected in evaluate(graph, {port.name: sample}).items():
            np.testing.assert_array_equal(outputs[name][i].reshape(expected.shape), expected)
