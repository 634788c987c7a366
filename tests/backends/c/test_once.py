"""From a model's file to C, a layer's constants are worked out and packed once, whoever asks."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.asked import asked
from tests.ops.build import Case, build_s8
from tinyrt.backends.c import choice
from tinyrt.backends.c.blocks import block, depthwise, fours, row_bytes, stored
from tinyrt.backends.c.mve import depthwise as mve_depthwise
from tinyrt.backends.c.mve import packing as mve_packing
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import export_c
from tinyrt.ir import DType
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared import requant

CORES = ("cortex-m3", "cortex-m4", "cortex-m55")

WORK = {
    "choice": ((choice, "_find"),),
    "requantisation": ((requant, "_weighted_requant"),),
    "simplifying": ((block, "simplify"), (depthwise, "simplify")),
    "packing": (
        *(
            (block, "pair_weights"),
            (fours, "weight_bytes"),
            (row_bytes, "words"),
            (depthwise, "pack_filters"),
            (depthwise, "pack_nibbles"),
        ),
        *((mve_packing, "pack_filters"), (mve_depthwise, "_packed")),
        (mve_depthwise, "_in_order"),
    ),
    "leaving out zeros": ((stored, "without_zeros"),),
}
"""What is done -> the functions that do it, where they are looked up."""

X = (1, 12, 8, 16)


def conv(kernel):
    return Case("conv2d", Conv2dAttrs(), (X, (8, kernel, kernel, 16), (8,)), frozenset({1, 2}))


def depthwise_conv(kernel):
    shapes = (X, (1, kernel, kernel, 16), (16,))
    return Case("depthwise_conv2d", DepthwiseConv2dAttrs(), shapes, frozenset({1, 2}))


def dense_layer():
    shapes = ((1, 64), (8, 64), (8,))
    return Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))


LAYERS = {
    "window": (conv(3), DType.INT8),
    "sparse window": (conv(3), DType.INT8),
    "pointwise": (conv(1), DType.INT8),
    "depthwise": (depthwise_conv(3), DType.INT8),
    "depthwise, 4 bits": (depthwise_conv(5), DType.INT4),
    "dense": (dense_layer(), DType.INT8),
}


@pytest.fixture
def done(monkeypatch):
    """How often each kind of work was done."""
    counts = Counter()

    def counted(kind, function):
        def work(*args, **options):
            counts[kind] += 1
            return function(*args, **options)

        return work

    for kind, functions in WORK.items():
        for module, name in functions:
            monkeypatch.setattr(module, name, counted(kind, getattr(module, name)))
    return counts


def exported(folder, layer, core, done, **options):
    """The project of a model of one layer, and the work that was done for it."""
    case, dtype = LAYERS[layer]
    graph = build_s8(case, np.random.default_rng(0), weights=dtype).graph
    if layer.startswith("sparse"):
        w = graph.value("in1")
        kept = np.arange(w.shape[3]) < 4
        values = graph.values | {"in1": replace(w, data=(w.data * kept).astype(np.int8))}
        graph = replace(graph, values=values)
    path = save_tflite(graph, folder / "net.tflite")
    done.clear()
    return export_c(path, folder / "out", core=core, **asked(**options)), dict(done)


def once(layer, core):
    """One of each; vector kernels take a layer's integers as they are, zeros included."""
    kinds = set(WORK) - ({"simplifying"} if core == "cortex-m55" else set())
    sparse = layer.startswith("sparse") and core != "cortex-m55"
    return dict.fromkeys(kinds if sparse else kinds - {"leaving out zeros"}, 1)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_chosen_and_packed_once(tmp_path, done, layer, core):
    _, work = exported(tmp_path, layer, core, done)
    assert work == once(layer, core)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("layer", sorted(set(LAYERS) - {"dense"}))
def test_on_rows_it_is_packed_once(tmp_path, done, layer, core):
    """A kernel is chosen for every number of rows; what it has packed is the same for all."""
    project, work = exported(tmp_path, layer, core, done, input_rows=True)
    assert "tinyrt_rows" in project.kernels
    assert work.pop("choice") > 1
    assert work | {"choice": 1} == once(layer, core)
