"""Models whose layers have different schemes: the device answers what the host answers."""

import numpy as np
import pytest

from tests.quantize.hard import depthwise_net
from tinyrt import api
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.choose import quantize_within


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55", "cortex-m0"])
def test_a_mix_of_all_schemes_answers_alike(core, tmp_path):
    graph = depthwise_net()
    x = np.random.default_rng(7).normal(size=(24, 8, 8, 3)).astype(np.float32)
    config = QuantConfig(
        scheme_for=(("depthwise_conv2d_1", Scheme.INT16X8), ("conv2d_2", Scheme.INT8)),
        keep_float=("depthwise_conv2d_3",),
    )
    plain = len(write_tflite(quantize_graph(graph, x, config)))
    mixed, report = quantize_within(graph, x, config, Budget(max_bytes=plain - 40))
    assert {layer.scheme for layer in report.layers} == {
        Scheme.INT4,
        Scheme.INT8,
        Scheme.INT16X8,
        Scheme.FLOAT,
    }
    save_tflite(mixed, tmp_path / "mixed.tflite")
    found = api.run_emulated(tmp_path / "mixed.tflite", core=core, build_dir=tmp_path / "build")
    assert found.agrees
