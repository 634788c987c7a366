"""Convolutions by tiles on this machine, under sanitizers."""

import numpy as np
import pytest

from tests.asked import asked
from tests.c.conformance import graph_of, other_data
from tests.c.host import BESIDE, build_program, run_program, run_samples
from tests.c.overlapping import overlapping_plan
from tests.c.tiles import KERNEL, TILES, by_tiles, extreme_tiles
from tests.memory.targets import kernels_for
from tests.ops.build import build_s8
from tests.sampling import sampled
from tinyrt.backends.c.choice import choose
from tinyrt.export import bundle, export_graph
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORES = ("cortex-m3", "cortex-m4")
LAYERS, SAMPLES = sampled(7, 150), sampled(2, 10)


@pytest.fixture(autouse=True)
def everywhere(monkeypatch):
    by_tiles(monkeypatch)


def by_kernel(graph, core):
    """How many layers take the kernel."""
    target = target_of(find_core(core), Optimize.BALANCED)
    return sum(choose(node, target).name == KERNEL for node in graph.bound())


@pytest.mark.parametrize(
    ("core", "build"),
    sampled(
        [("cortex-m3", extreme_tiles), ("cortex-m4", build_s8)],
        [(core, build) for core in CORES for build in (build_s8, extreme_tiles)],
    ),
)
def test_random_layers_equal_the_references(tmp_path, core, build):
    graph, feeds = graph_of(TILES, range(LAYERS), build)
    assert by_kernel(graph, core) > len(graph.nodes) * 0.6
    rng = np.random.default_rng(1)
    samples = [feeds, *(other_data(feeds, rng) for _ in range(SAMPLES - 1))]
    project = export_graph(graph, tmp_path / "project", core=core, **asked(memories=BESIDE))
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("core", sampled(["cortex-m4"], CORES))
def test_outputs_lie_on_inputs_as_far_as_the_sweep_allows(tmp_path, monkeypatch, core):
    monkeypatch.setattr(bundle, "plan_memory", overlapping_plan)
    graph, feeds = graph_of(TILES, range(100, 100 + sampled(3, 20)))
    plan = overlapping_plan(graph, kernels_for(core))
    pairs = [(node.input(0), node.output) for node in graph.bound()]
    near = [plan.offsets[y.name] + y.nbytes > plan.offsets[x.name] for x, y in pairs]
    assert sum(near) > len(near) // 3
    project = export_graph(graph, tmp_path / "project", core=core)
    found = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)
