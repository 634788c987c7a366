"""Layers on int16 activations: what they may cost on emulated cores, per multiply-accumulate."""

import pytest

from benchmarks.kernels import LAYERS, Layer, graph_of, measure, share_of_cmsis_nn
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.spec import Form

LIMITS = {
    "cortex-m4": (1.28, 2.16, 10.1),
    "cortex-m55": (0.42, 0.74, 3.65),
    "cortex-m3": (2.5, 3.15, 10.4),
    "cortex-m0": (6.03, 7.31, 27.8),
}
"""Core -> most instructions of a convolution of 3 x 3, of one of 1 x 1, and of a depthwise one."""

NAMES = ("conv 3 x 3, int16", "conv 1 x 1, int16", "depthwise 3 x 3, int16")


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*LIMITS]))
def test_wide_layers_keep_to_their_limits(core):
    require_core(core)
    rows = {row["layer"]: row for row in measure(core, {name: LAYERS[name] for name in NAMES})}
    for name, limit in zip(NAMES, LIMITS[core], strict=True):
        assert rows[name]["per"] == "MAC"
        assert 0.9 * limit < rows[name]["each"] <= limit


FUNCTIONS = {
    "cortex-m4": (14.1, 14.1, 24.6),
    "cortex-m55": (3.1, 3.0, 16.8),
    "cortex-m3": (24.1, 26.1, 44.1),
    "cortex-m0": (35.2, 38.6, 111.6),
}
"""Core -> most instructions of logistic, of tanh and of softmax, per output."""

FUNCTION_NAMES = ("logistic, int16", "tanh, int16", "softmax, 64 rows of 64, int16")


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m55"], [*FUNCTIONS]))
def test_functions_of_int16_keep_to_their_limits(core):
    """On M4 and M55 that is at most .6 of CMSIS-NN's, whose scales are powers of two only."""
    require_core(core)
    rows = measure(core, {name: LAYERS[name] for name in FUNCTION_NAMES})
    for row, limit in zip(rows, FUNCTIONS[core], strict=True):
        assert row["per"] == "output"
        assert 0.9 * limit < row["each"] <= limit
    shares = [share_of_cmsis_nn(row) for row in rows]
    assert all(share is None or share < 0.605 for share in shares)


COSTS = {
    **{"1 x 1": NAMES[1], "3 x 3": NAMES[0], "row": "dense, 1 row, int16"},
    "LSTM": "LSTM, 10 steps, 40 to 64, int16",
    "few units": "LSTM, 10 steps, 13 to 18, int16",
}


@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m55"], ["cortex-m3", "cortex-m4", "cortex-m55"]))
def test_formulas_say_what_wide_kernels_cost(core):
    require_core(core)
    layers = {title: LAYERS[name] for title, name in COSTS.items()}
    layers["row"] = wide("fully_connected", FullyConnectedAttrs(), (1, 201), (62, 201))
    found = {row["layer"]: row["instructions"] for row in measure(core, layers)}
    graph, _ = graph_of(layers)
    own = find_core(core)
    for node in graph.bound():
        kernel = choose(node, target_of(own, Optimize.BALANCED))
        (one,) = kernel.calls
        said = instructions_of(one, node, kernel, own.isa)
        assert said == pytest.approx(found[node.name], rel=0.03), node.name


def wide(op, attrs, x, w):
    return Layer(op, attrs, (x, w), 0.01, 0, Form.INT16X8)


def depthwise(w, channels=8):
    return wide("depthwise_conv2d", DepthwiseConv2dAttrs(), (1, 9, 80, channels), w)


@pytest.mark.parametrize(
    ("layer", "kernel"),
    [
        (depthwise((1, 3, 3, 8)), "depthwise_quads_s16"),
        (depthwise((1, 7, 73, 8)), "depthwise_quads_s16"),
        (depthwise((1, 8, 64, 8)), "depthwise_conv2d_s16"),
        (depthwise((1, 3, 3, 6), channels=6), "depthwise_conv2d_s16"),
        (depthwise((1, 3, 3, 16)), "depthwise_conv2d_s16"),
    ],
)
def test_a_depthwise_layer_goes_by_quads_where_sums_fit(layer, kernel):
    """Of 511 taps they do, whatever their values; of 512 they do not."""
    graph, _ = graph_of({"layer": layer})
    (node,) = graph.bound()
    target = target_of(find_core("cortex-m4"), Optimize.BALANCED)
    assert choose(node, target).name == f"tinyrt_{kernel}"


@pytest.mark.parametrize(
    ("core", "c_in", "kernel", "scratch"),
    [
        ("cortex-m4", 6, 1, 0),
        ("cortex-m4", 5, 1, 0),
        ("cortex-m3", 5, 3, 2 * 45),
        ("cortex-m55", 16, 1, 0),
        ("cortex-m55", 6, 1, 2 * 8),
        ("cortex-m55", 6, 3, 2 * 56),
        ("cortex-m4", 6, 3, 2 * 54),
    ],
)
def test_columns_are_padded_to_what_is_read_at_once(core, c_in, kernel, scratch):
    layer = wide("conv2d", Conv2dAttrs(), (1, 4, 4, c_in), (3, kernel, kernel, c_in))
    graph, _ = graph_of({"layer": layer})
    (node,) = graph.bound()
    assert choose(node, target_of(find_core(core), Optimize.BALANCED)).scratch_bytes == scratch
