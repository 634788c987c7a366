"""Convolutions by tiles on emulated cores, in every way that compilers make their loops."""

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.test_winograd import by_kernel
from tests.c.tiles import TILES, by_tiles
from tests.firmware.compilers import OTHER, by_clang, with_options
from tests.firmware.device import check_on_device, require_core
from tests.firmware.test_slices_ops import smallest
from tests.sampling import sampled
from tinyrt.emulate import build_image, run_image
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import export_graph, slices
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORES = ("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")
WAYS = {
    "O2": "-O2",
    "speed": "-O2 -DTINYRT_FAST",
    "size": "-Os",
    "O0": "-O0",
    "a register kept": "-O2 -fno-omit-frame-pointer",
    "two registers kept": "-O2 -fno-omit-frame-pointer -ffixed-r9",
    "no assembly": "-O2 -DTINYRT_NO_ASM",
    "plain C": "-O2 -DTINYRT_NO_ASM -DTINYRT_NO_ACLE",
    "another compiler": f"-O2 {OTHER}",
    "clang": "-O2",
    "clang, for size": "-Os",
    "clang, a register kept": "-O2 -fomit-frame-pointer -ffixed-r9",
}
ALL = [
    (core, way)
    for core in CORES
    for way in WAYS
    if (core, way) != ("cortex-m3", "two registers kept")  # which other loops do not allow
    and (core == "cortex-m4" or not way.startswith("clang"))
]
SAMPLE = [("cortex-m4", "two registers kept")]


@pytest.fixture(autouse=True)
def everywhere(monkeypatch):
    by_tiles(monkeypatch)


@pytest.fixture(scope="module")
def layers():
    graph, feeds = graph_of(TILES, range(sampled(4, 30)))
    return graph, feeds, evaluate(graph, feeds)


@pytest.mark.parametrize(("core", "way"), sampled(SAMPLE, ALL))
def test_tiles_are_exact_on_the_device(layers, tmp_path, core, way):
    require_core(core)
    graph, feeds, expected = layers
    assert by_kernel(graph, core) > len(graph.nodes) * 0.6
    project = export_graph(graph, tmp_path / "project", core=core)
    with_options(project, WAYS[way])
    if way.startswith("clang"):
        by_clang(project)
    data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
    found = run_image(build_image(project, tmp_path), data, tmp_path)
    answers = unpack_outputs(project.outputs, found.outputs, 1)
    for name, values in expected.items():
        np.testing.assert_array_equal(answers[name].reshape(values.shape), values, err_msg=name)


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_parts_answer_as_whole_layers(layers, tmp_path, monkeypatch, core):
    graph, feeds, _ = layers
    monkeypatch.setattr(slices, "divided", smallest)
    check_on_device(graph, feeds, tmp_path, core, slices=1000)
