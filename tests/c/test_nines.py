"""Loops of dual-multiply cores on this machine, under sanitizers."""

from itertools import product

import numpy as np
import pytest

from tests.asked import asked
from tests.c.conformance import graph_of, other_data
from tests.c.host import BESIDE, build_program, run_samples
from tests.c.nines import KERNEL, LAYERS, nines
from tests.c.packed_cases import relu_outputs
from tests.ops.build import build_s8
from tests.sampling import sampled
from tinyrt.backends.c.choice import choose
from tinyrt.export import export_graph
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

BUILDS = (relu_outputs, build_s8)
SETS = {"nines": {"nines": nines}, "all": LAYERS}


@pytest.mark.parametrize(
    ("layers", "build"), sampled([*zip(SETS, BUILDS, strict=True)], [*product(SETS, BUILDS)])
)
def test_random_layers_equal_the_references(tmp_path, layers, build):
    graph, feeds = graph_of(SETS[layers], range(sampled(9, 150)), build)
    if build is relu_outputs and layers == "nines":
        target = target_of(find_core("cortex-m4"), Optimize.BALANCED)
        taken = sum(choose(node, target).name == KERNEL for node in graph.bound())
        assert taken > len(graph.nodes) // 2
    rng = np.random.default_rng(1)
    samples = [feeds, other_data(feeds, rng)]
    project = export_graph(graph, tmp_path / "project", core="cortex-m4", **asked(memories=BESIDE))
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)
