"""Layers on uint8 around any zero point of weights, on emulated cores."""

import numpy as np
import pytest

from tests.c.wide_layers import at_ends, feeds, net
from tests.firmware.device import require_core
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = [pytest.mark.device, pytest.mark.slow]

LAYERS, SAMPLES = 100, 4
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc")


def together(samples):
    """Samples first: in place of a batch of one."""
    join = {name: np.stack if len(x) > 1 else np.concatenate for name, x in samples[0].items()}
    return {name: join[name]([one[name] for one in samples]) for name in samples[0]}


@pytest.mark.parametrize("core", CORES)
def test_random_layers_equal_the_references(tmp_path, core):
    require_core(core)
    graph = net(5, LAYERS)
    samples = [feeds(graph, i) for i in range(SAMPLES)]
    answers = [evaluate(graph, data) for data in samples]
    inputs, expected = together(samples), together(answers)
    path = save_tflite(graph, tmp_path / "net.tflite")
    report = run_emulated(
        path, core=core, inputs=inputs, expected=expected, build_dir=tmp_path / "build"
    )
    assert report.bit_exact


@pytest.mark.parametrize("y_scale", [1.0, 8.0, 40.0])
@pytest.mark.parametrize("rows", [1, 2, 5])
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
