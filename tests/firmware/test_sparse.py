"""Weights stored without their zeros: the kernels on emulated cores, and that they pay."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks.sparse import stored_as
from tests.c.conformance import graph_of
from tests.c.packed_cases import (
    SPARSE_CASES,
    VECTOR_SPARSE_CASES,
    sparse_weights,
    vector_sparse_weights,
)
from tests.firmware.device import check_on_device, require_core
from tests.ops.build import Case, build_s8
from tests.sampling import sampled
from tinyrt.backends.c.weights import WORTH, Weights
from tinyrt.emulate import build_image, run_image
from tinyrt.export import export_graph
from tinyrt.export.sparsity import sparse_layers
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate

ROW = Case(
    "fully_connected", FullyConnectedAttrs(), ((1, 256), (32, 256), (32,)), frozenset({1, 2})
)
PIXELS = Case("conv2d", Conv2dAttrs(), ((1, 4, 4, 64), (32, 1, 1, 64), (32,)), frozenset({1, 2}))
WINDOWS = Case("conv2d", Conv2dAttrs(), ((1, 6, 8, 16), (32, 3, 3, 16), (32,)), frozenset({1, 2}))
VECTOR_BLOCK, BLOCK = (4, 16), (8, 4)
"""Channels and taps that are left out together: with vectors, and by every other kernel."""

ODD = Case("conv2d", Conv2dAttrs(), ((1, 3, 5, 96), (40, 1, 1, 96), (40,)), frozenset({1, 2}))
"""An odd number of pixels, the last of which are neither two nor four."""

CLOSE, VECTORS_CLOSE = 0.05, 0.12
"""How far what is said of instructions may be from what is measured: in all, and with vectors."""


def pruned(case, pattern, block=BLOCK, share=0.5):
    """A layer with a share of its weights in blocks, or one or two of every four."""
    rng = np.random.default_rng(3)
    graph = build_s8(case, rng).graph
    w = graph.value("in1")
    if pattern is Weights.BLOCKS:
        channels, taps = block
        blocks = w.shape[0] // channels, w.size // w.shape[0] // taps
        kept = np.kron(rng.random(blocks) < share, np.ones(block))
    else:
        order = rng.permuted(np.tile(np.arange(4), (w.size // 4, 1)), axis=1)
        kept = order < int(pattern.value[0])
    data = np.asarray(w.data) * kept.astype(bool).reshape(w.shape)
    return replace(graph, values={**graph.values, "in1": replace(w, data=data.astype(np.int8))})


def instructions(graph, core, folder, form, **options):
    """Of an inference with the weights in that form, which must answer as the reference does."""
    folder.mkdir()
    with stored_as(form):
        project = export_graph(replace(graph), folder / "model", core=core, **options)
    (x,) = graph.input_values
    data = np.random.default_rng(0).integers(-128, 128, x.shape, np.int8)
    run = run_image(build_image(project, folder), data.tobytes(), folder)
    assert run.outputs == evaluate(graph, {x.name: data})["out"].tobytes()
    return run.instructions


SCALAR = ("cortex-m0", "cortex-m3", "cortex-m4", "rv32imc")


@pytest.mark.parametrize(
    ("core", "optimize"),
    sampled(
        [("cortex-m4", "balanced")],
        [*product(SCALAR, ("balanced", "size"))],
    ),
)
def test_sparse_kernels_on_the_device(tmp_path, core, optimize):
    graph, feeds = graph_of(SPARSE_CASES, range(10), sparse_weights)
    check_on_device(graph, feeds, tmp_path, core, optimize=optimize)


PATTERNS = (Weights.BLOCKS, Weights.ONE_OF_4, Weights.TWO_OF_4)


@pytest.mark.parametrize(
    ("pattern", "case", "core"),
    sampled(
        [
            (Weights.ONE_OF_4, ROW, "cortex-m3"),
        ],
        [
            (pattern, case, core)
            for pattern, case in [*product(PATTERNS, (ROW, PIXELS, ODD)), (Weights.BLOCKS, WINDOWS)]
            for core in SCALAR
        ],
    ),
)
def test_what_is_stored_sparsely_is_what_pays(tmp_path, core, case, pattern):
    """The exporter's choice is the faster one where that is worth it, and its costs are true."""
    require_core(core)
    graph = pruned(case, pattern)
    (layer,) = sparse_layers(graph, target_of(find_core(core), Optimize.BALANCED))
    dense = instructions(graph, core, tmp_path / "dense", Weights.DENSE)
    sparse = instructions(graph, core, tmp_path / "sparse", pattern)
    for form, found in ((Weights.DENSE, dense), (pattern, sparse)):
        assert found == pytest.approx(layer.forms[form].instructions, rel=CLOSE)
    assert (layer.form is pattern) == (sparse < WORTH * dense)
    _, fewer_bytes = layer.ratios[pattern]
    assert fewer_bytes < 1
    (small,) = sparse_layers(graph, target_of(find_core(core), Optimize.SIZE))
    assert small.form is pattern


@pytest.mark.whole
@pytest.mark.parametrize(
    "options",
    sampled([{"blob": True}], [{"optimize": "balanced"}, {"optimize": "size"}, {"blob": True}]),
    ids=str,
)
def test_sparse_kernels_with_vectors_on_the_device(tmp_path, options):
    """Any number of blocks of four channels, none of them, and results of any rounding."""
    graph, feeds = graph_of(VECTOR_SPARSE_CASES, range(sampled(10, 30)), vector_sparse_weights)
    with stored_as(Weights.BLOCKS):
        check_on_device(graph, feeds, tmp_path, "cortex-m55", **options)


@pytest.mark.parametrize("optimize", sampled(["balanced"], ["balanced", "size"]))
def test_any_number_of_blocks_is_kept_with_vectors(tmp_path, optimize):
    """Chains of code of every length, behind any number of turns, for two rows and for one."""
    most, rng = 24, np.random.default_rng(5)
    shapes = ((3, 16 * most), (4 * most, 16 * most), (4 * most,))
    case = Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))
    graph, feeds = graph_of({"counts": lambda _: case}, range(1))
    (w,) = (v for v in graph.bind(0).inputs if v.shape == shapes[1])
    kept = np.array([rng.permutation(np.arange(most) <= i) for i in range(most)])
    data = np.asarray(w.data) * np.kron(kept, np.ones(VECTOR_BLOCK, np.int8))
    graph = replace(graph, values={**graph.values, w.name: replace(w, data=data.astype(np.int8))})
    with stored_as(Weights.BLOCKS):
        check_on_device(graph, feeds, tmp_path, "cortex-m55", optimize=optimize)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("case", "share"),
    sampled(
        [(PIXELS, 0.25)],
        [(ROW, 0.5), (ROW, 0.25), (PIXELS, 0.25), (WINDOWS, 0.5), (WINDOWS, 0.25)],
    ),
)
def test_what_is_left_out_with_vectors_is_what_pays(tmp_path, case, share):
    """As above, in blocks of four channels by sixteen taps."""
    core = "cortex-m55"
    require_core(core)
    graph = pruned(case, Weights.BLOCKS, VECTOR_BLOCK, share)
    (layer,) = sparse_layers(graph, target_of(find_core(core), Optimize.BALANCED))
    dense = instructions(graph, core, tmp_path / "dense", Weights.DENSE)
    sparse = instructions(graph, core, tmp_path / "sparse", Weights.BLOCKS)
    expected, _ = layer.ratios[Weights.BLOCKS]
    assert sparse / dense == pytest.approx(expected, abs=VECTORS_CLOSE * expected)
    known = layer.forms[Weights.BLOCKS].instructions
    assert sparse == pytest.approx(known, rel=VECTORS_CLOSE)
    assert sparse < dense
