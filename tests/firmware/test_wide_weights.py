"""Layers on uint8 around any zero point of weights, on emulated cores."""

from itertools import product

import numpy as np
import pytest

from tests.c.wide_layers import at_ends, chain, feeds, net
from tests.firmware.device import require_core
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.rejoined import rejoined
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = [pytest.mark.device, pytest.mark.slow]

LAYERS, SEED, SAMPLES = sampled((40, 30, 3), (100, 5, 4))
"""The sample's seed has layers for nearly all kernels that more layers of another have."""

CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc")
SAMPLE = ("cortex-m55",)
"""It has a Cortex-M3's kernels."""


def together(samples):
    """Samples first: in place of a batch of one."""
    join = {name: np.stack if len(x) > 1 else np.concatenate for name, x in samples[0].items()}
    return {name: join[name]([one[name] for one in samples]) for name in samples[0]}


@pytest.fixture(scope="module")
def layers():
    """Layers, samples, and their answers: the same for all cores."""
    graph = net(SEED, LAYERS)
    samples = [feeds(graph, i) for i in range(SAMPLES)]
    return graph, together(samples), together([evaluate(graph, data) for data in samples])


@pytest.mark.whole
@pytest.mark.parametrize("core", sampled(SAMPLE, CORES))
def test_random_layers_equal_the_references(layers, tmp_path, core):
    require_core(core)
    graph, inputs, expected = layers
    path = save_tflite(graph, tmp_path / "net.tflite")
    report = run_emulated(
        path, core=core, inputs=inputs, expected=expected, build_dir=tmp_path / "build"
    )
    assert report.bit_exact


ENDS = list(product((1, 2, 5), (1.0, 8.0, 40.0)))
"""Rows of a dense layer, and the scale of its outputs."""


@pytest.mark.parametrize(("rows", "y_scale"), sampled(ENDS[4:5], ENDS))
def test_sums_at_both_ends_on_a_core_without_long_products(tmp_path, rows, y_scale):
    """Products are made of halves there, which leave no bit for more."""
    require_core("cortex-m0")
    graph = at_ends(rows, y_scale)
    samples = [{"x0": np.full((rows, 256), x, np.uint8)} for x in (0, 1, 128, 255)]
    inputs, expected = together(samples), together([evaluate(graph, data) for data in samples])
    path = save_tflite(graph, tmp_path / "net.tflite")
    report = run_emulated(
        path, core="cortex-m0", inputs=inputs, expected=expected, build_dir=tmp_path / "build"
    )
    assert report.bit_exact


def profiled(graph, core, folder):
    """What each op of a graph takes."""
    data = feeds(graph, 0)
    path = save_tflite(graph, folder / "net.tflite")
    inputs, expected = together([data]), together([evaluate(graph, data)])
    run = {"inputs": inputs, "expected": expected, "build_dir": folder / "build", "profile": True}
    report = run_emulated(path, core=core, **run)
    assert report.bit_exact
    return report.ops


def test_formula_says_what_convolutions_cost_with_vectors(tmp_path):
    require_core("cortex-m55")
    graph, target = chain(3), kernels_for("cortex-m55").target
    nodes = [n for n in rejoined(graph, target).bound() if n.op == "conv2d"]
    kernels = [choose(node, target) for node in nodes]
    assert {kernel.name for kernel in kernels} == {"tinyrt_conv2d_more_s8"}
    found = [op.instructions for op in profiled(graph, "cortex-m55", tmp_path) if op.op == "conv2d"]
    off = [round(k.cost() / count - 1, 3) for k, count in zip(kernels, found, strict=True)]
    # The last one's channels are no four, which no formula of these products knows.
    assert max(map(abs, off[:-1])) <= 0.06, off


@pytest.mark.whole
def test_dense_layers_take_vectors(tmp_path):
    """Four channels of 16 taps at once, and eight look-ups of their steps."""
    require_core("cortex-m55")
    ops = profiled(at_ends(1, 8.0), "cortex-m55", tmp_path)
    (dense,) = [op.instructions for op in ops if op.op == "fully_connected"]
    assert dense <= 100 + 3 * (16 * 12 + 230)
