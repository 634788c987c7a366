"""Four pixels at a time, on this machine, under sanitizers."""

import numpy as np
import pytest

from tests.c.conformance import graph_of, other_data
from tests.c.fours import BUILDS, FOURS, KERNELS
from tests.c.host import BESIDE, build_program, run_program, run_samples
from tests.c.overlapping import overlapping_plan
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.export import ExportOptions, bundle, export_graph
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

LAYERS, SAMPLES = sampled(12, 300), sampled(2, 10)


@pytest.mark.parametrize(
    ("core", "build"),
    sampled(
        [("cortex-m3", "without a sign")],
        [(core, build) for core in KERNELS for build in BUILDS],
    ),
)
def test_random_layers_equal_the_references(tmp_path, core, build):
    graph, feeds = graph_of(FOURS, range(LAYERS), BUILDS[build])
    rng = np.random.default_rng(1)
    samples = [feeds, *(other_data(feeds, rng) for _ in range(SAMPLES - 1))]
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    four = {name for name in project.kernels if "_four_" in name}
    assert four <= KERNELS[core]
    assert len(four) == len(KERNELS[core]) or build != "without a sign"
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("core", sampled(["cortex-m3"], ["cortex-m3", "cortex-m0"]))
def test_outputs_lie_on_inputs_as_far_as_the_sweep_allows(tmp_path, monkeypatch, core):
    monkeypatch.setattr(bundle, "plan_memory", overlapping_plan)
    graph, feeds = graph_of(FOURS, range(100, 100 + sampled(12, 80)))
    plan = overlapping_plan(graph, kernels_for(core))
    pairs = [(node.input(0), node.output) for node in graph.bound()]
    near = [plan.offsets[y.name] + y.nbytes > plan.offsets[x.name] for x, y in pairs]
    assert sum(near) > len(near) // 4
    project = export_graph(graph, tmp_path / "project", core=core)
    found = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)
