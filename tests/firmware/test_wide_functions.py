"""logistic, tanh and softmax of int16: inputs all over the range, at scales of all kinds."""

import numpy as np
import pytest

from tests.firmware.device import check_on_device, require_core
from tests.sampling import sampled
from tinyrt.backends.c.choice import choose
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.table_s16 import FIXED_OUTPUT

SHORT = (2.0**-15, 2.0**-12, 1.5e-5, 1e-3, 5.0 / 32768, 0.67, 1.0)
"""Multipliers with a shift and without, whose products fit 32 bits on all cores."""
LONG = (7e-6, 2e-6, 1.34, 2.5, 5.4, 11.0, 2e5)
"""Others, some of which take an input of 1 or 2 to the table's end."""
EVERY = 7
"""Inputs are so far apart, as boards have little memory, but for those next to 0 and the ends."""
CORES = ("cortex-m4", "cortex-m55", "cortex-m0")
DIFFERENCES = (1e-8, 1e-6, 2.5e-5, 3.05e-4, 1e-3, 0.3, 1.2)
"""Scales of softmax whose differences fit 31 bits."""
FAR_DIFFERENCES = (1e-9, 1.3, 50.0)


def graph_of(op, scales, shape):
    """The op once for each scale, on inputs of its own."""
    values, nodes = [], []
    for i, scale in enumerate(scales):
        values.append(Value(f"x{i}", DType.INT16, shape, QParams((float(np.float32(scale)),), 0)))
        values.append(Value(f"y{i}", DType.INT16, shape, QParams((FIXED_OUTPUT[0],), 0)))
        nodes.append(Node(op, f"y{i}", (f"x{i}",), (f"y{i}",), OPS[op].attrs()))
    names = {kind: tuple(f"{kind}{i}" for i in range(len(scales))) for kind in "xy"}
    values = {v.name: v for v in values}
    return verify(Graph("functions", names["x"], names["y"], values, tuple(nodes)))


def kernels_of(graph, core):
    target = target_of(find_core(core), Optimize.BALANCED)
    return {choose(node, target).name for node in graph.bound()}


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("op", sampled(["logistic"], ["logistic", "tanh"]))
@pytest.mark.parametrize(
    ("core", "first"), sampled([("cortex-m55", 0)], [(c, i) for c in CORES for i in range(EVERY)])
)
def test_inputs_are_exact(op, core, first, tmp_path):
    """Lengths are no whole vectors, but for some."""
    require_core(core)
    ends = [*range(-32768, -32759), *range(-9, 10), *range(32760, 32768)]
    x = np.array([*ends, *range(-32768 + first, 32768, EVERY)], np.int16)
    graph = graph_of(op, SHORT + LONG, x.shape)
    check_on_device(graph, dict.fromkeys(graph.inputs, x), tmp_path, core)


@pytest.mark.parametrize("op", ["logistic", "tanh"])
def test_scales_whose_products_fit_take_the_short_kernel(op):
    for core in CORES:
        assert kernels_of(graph_of(op, SHORT, (8,)), core) == {f"tinyrt_{op}_short_s16"}
    assert kernels_of(graph_of(op, LONG, (8,)), "cortex-m4") == {f"tinyrt_{op}_s16"}
    assert kernels_of(graph_of(op, LONG[:4], (8,)), "cortex-m55") == {f"tinyrt_{op}_short_s16"}
    assert kernels_of(graph_of(op, LONG[4:], (8,)), "cortex-m55") == {f"tinyrt_{op}_s16"}


SHAPES = [(7, 33), (9, 2), (1, 500), (11, 1)]


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m4"], CORES))
@pytest.mark.parametrize("shape", sampled(SHAPES[:1], SHAPES))
def test_softmax_is_exact(shape, core, tmp_path):
    """Rows of random numbers all over the range, or near one another; one from end to end."""
    require_core(core)
    rng = np.random.default_rng(3)
    graph, feeds = graph_of("softmax", DIFFERENCES + FAR_DIFFERENCES, shape), {}
    for name in graph.inputs:
        x = rng.integers(-32768, 32768, shape)
        x[::2] //= rng.integers(1, 3000, (len(x[::2]), 1))
        x[0, 0], x[0, -1] = -32768, 32767
        feeds[name] = x.astype(np.int16)
    check_on_device(graph, feeds, tmp_path, core)


def test_softmax_takes_pairs_but_where_differences_do_not_fit():
    pairs = graph_of("softmax", DIFFERENCES, (2, 8))
    plain = graph_of("softmax", FAR_DIFFERENCES, (2, 8))
    assert kernels_of(pairs, "cortex-m4") == {"tinyrt_softmax_pairs_s16"}
    assert kernels_of(plain, "cortex-m4") == {"tinyrt_softmax_s16"}
    assert kernels_of(pairs, "cortex-m0") == {"tinyrt_softmax_s16"}
