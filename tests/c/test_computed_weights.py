"""Layers whose weights or biases the model computes: C under sanitizers, against the references."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.floats import assert_close
from tests.c.host import BESIDE, build_program, run_program
from tests.ops.build import Built, build_f32, build_s8, build_s16
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate

LAYERS = ("conv2d", "depthwise_conv2d", "fully_connected", "transpose_conv")
SEEDS = range(sampled(12, 60))
CORES = ("cortex-m3", "cortex-m4")


def computed(make, case, rng):
    """A layer whose weights (1), bias (2) or both (3) are inputs, of any values."""
    built, at = make(case, rng), rng.integers(1, 4)
    (node,) = built.graph.nodes
    names = [n for i, n in enumerate(node.inputs) if i and i & at]
    values, feeds = dict(built.graph.values), dict(built.feeds)
    for name in names:
        value = values[name]
        if value.dtype is DType.INT32 and make is build_s16:
            continue  # accumulators of 32 bits, see tests/backends/c/test_computed_weights.py
        values[name] = replace(value, data=None)
        feeds[name] = any_values(value.data, rng)
    inputs = tuple(dict.fromkeys((*built.graph.inputs, *feeds)))
    return Built(replace(built.graph, values=values, inputs=inputs), feeds)


def any_values(data, rng):
    """All numbers of the type, its ends among them; floats stay."""
    if data.dtype.kind == "f":
        return np.array(data)
    limits = np.iinfo(data.dtype)
    ends = np.array([limits.min, limits.max], data.dtype)
    near = rng.integers(-5000, 5000, data.shape) if limits.bits > 8 else data
    drawn = rng.integers(limits.min, limits.max, data.shape, data.dtype, endpoint=True)
    picked = [near.astype(data.dtype), drawn, np.resize(ends, data.shape)]
    return picked[rng.integers(3)]


@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("make", [build_s8, build_s16, build_f32])
def test_kernels_equal_the_references(make, core, tmp_path):
    graph, feeds = graph_of({op: CASES[op] for op in LAYERS}, SEEDS, partial(computed, make))
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        if make is build_f32:
            assert_close(name.split("/")[0], found[name], expected)
        else:
            np.testing.assert_array_equal(found[name], expected, err_msg=name)
