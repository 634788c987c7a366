"""Weights stored without their zeros: the kernels on emulated cores, and that they pay."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.sparse import stored_as
from tests.c.conformance import graph_of
from tests.c.packed_cases import SPARSE_CASES, sparse_weights
from tests.firmware.device import check_on_device, require_core
from tests.ops.build import Case, build_s8
from tests.sampling import sampled
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.weights import Weights
from tinyrt.emulate import build_image, run_image
from tinyrt.export import export_graph, find_core
from tinyrt.export.sparsity import sparse_layers
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate

ROW = Case(
    "fully_connected", FullyConnectedAttrs(), ((1, 256), (32, 256), (32,)), frozenset({1, 2})
)
PIXELS = Case("conv2d", Conv2dAttrs(), ((1, 4, 4, 64), (32, 1, 1, 64), (32,)), frozenset({1, 2}))
CLOSE = 0.12
"""How far an expected ratio of instructions may be from the measured one."""


def pruned(case, pattern):
    """A layer whose weights are half zeros in blocks, or one or two of every four."""
    rng = np.random.default_rng(3)
    graph = build_s8(case, rng).graph
    w = graph.value("in1")
    if pattern is Weights.BLOCKS:
        kept = np.kron(
            rng.random((w.shape[0] // 8, w.size // w.shape[0] // 4)) < 0.5, np.ones((8, 4))
        )
    else:
        order = rng.permuted(np.tile(np.arange(4), (w.size // 4, 1)), axis=1)
        kept = order < int(pattern.value[0])
    data = np.asarray(w.data) * kept.astype(bool).reshape(w.shape)
    return replace(graph, values={**graph.values, "in1": replace(w, data=data.astype(np.int8))})


def instructions(graph, core, folder, form):
    """Of an inference with the weights in that form, which must answer as the reference does."""
    folder.mkdir()
    with stored_as(form):
        project = export_graph(replace(graph), folder / "model", core=core)
    (x,) = graph.input_values
    data = np.random.default_rng(0).integers(-128, 128, x.shape, np.int8)
    run = run_image(build_image(project, folder), data.tobytes(), folder)
    assert run.outputs == evaluate(graph, {x.name: data})["out"].tobytes()
    return run.instructions


@pytest.mark.parametrize("optimize", ["balanced", "size"])
@pytest.mark.parametrize(
    "core", sampled(["cortex-m0", "cortex-m4"], ["cortex-m0", "cortex-m3", "cortex-m4", "rv32imc"])
)
def test_sparse_kernels_on_the_device(tmp_path, core, optimize):
    graph, feeds = graph_of(SPARSE_CASES, range(10), sparse_weights)
    check_on_device(graph, feeds, tmp_path, core, optimize=optimize)


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m3", "cortex-m4"]))
@pytest.mark.parametrize("case", [ROW, PIXELS], ids=["row", "pixels"])
@pytest.mark.parametrize("pattern", [Weights.BLOCKS, Weights.ONE_OF_4, Weights.TWO_OF_4])
def test_what_is_stored_sparsely_is_what_pays(tmp_path, core, case, pattern):
    """The exporter's choice is the faster one, and its costs are near the truth."""
    require_core(core)
    graph = pruned(case, pattern)
    (layer,) = sparse_layers(graph, Target(find_core(core).isa))
    dense = instructions(graph, core, tmp_path / "dense", Weights.DENSE)
    sparse = instructions(graph, core, tmp_path / "sparse", pattern)
    expected, fewer_bytes = layer.ratios[pattern]
    assert sparse / dense == pytest.approx(expected, abs=CLOSE * expected)
    assert (layer.form is pattern) == (sparse < dense)
    assert fewer_bytes < 1
    (small,) = sparse_layers(graph, Target(find_core(core).isa, small=True))
    assert small.form is pattern
