"""Layers in the smallest parts that they can be cut into, on this machine, under sanitizers.

Each part must answer as it does in the whole layer, and touch no memory but its layer's.
"""

from functools import partial

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.fours import BUILDS, FOURS
from tests.c.host import BESIDE, build_program, run_program
from tests.c.packed_cases import RELU_CASES, relu_outputs
from tests.c.tiles import TILES, by_tiles
from tests.firmware.test_slices_ops import LAYERS, smallest
from tests.ops.build import build_s8
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph, slices
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

KINDS = {
    "fours": partial(graph_of, FOURS),
    "fours without a sign": partial(graph_of, FOURS, build=BUILDS["without a sign"]),
    "layers": partial(graph_of, LAYERS),
    "layers without a sign": partial(graph_of, RELU_CASES, build=relu_outputs),
    "tiles": partial(graph_of, TILES, build=build_s8),
}
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "rv32imc")
SAMPLE = [
    *(("cortex-m0", "fours"), ("cortex-m3", "fours without a sign")),
    ("cortex-m4", "tiles"),
]


@pytest.mark.parametrize(
    ("core", "kind"), sampled(SAMPLE, [(core, kind) for core in CORES for kind in KINDS])
)
def test_parts_answer_as_whole_layers_in_their_own_memory(tmp_path, monkeypatch, core, kind):
    if kind == "tiles":
        by_tiles(monkeypatch)
    monkeypatch.setattr(slices, "divided", smallest)
    graph, feeds = KINDS[kind](range(sampled(2, 20)))
    options = ExportOptions(slices=1000, memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    assert project.slices.count > len(graph.nodes)
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)
