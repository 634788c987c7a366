"""Conversion for a runtime that lacks ops: float models are lowered; of int8 ones, moves are."""

import numpy as np

from tests.graphs import Builder, small_cnn
from tests.passes.run import ops, results
from tests.quantize.test_mixed import samples
from tinyrt import api
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.interpreter import Model
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.quantize import QuantConfig, quantize_graph


def test_a_float_model_is_written_in_ops_that_the_target_has(tmp_path):
    net = Builder((2, 5))
    save_tflite(net.graph(net.op("gelu", ("x",), GeluAttrs())), tmp_path / "net.tflite")
    plain = api.convert_model(tmp_path / "net.tflite", tmp_path / "plain.tflite")
    lowered = api.convert_model(tmp_path / "net.tflite", tmp_path / "tflm.tflite", target="tflm")
    assert ops(plain) == ["gelu"]
    assert "gelu" not in ops(lowered)
    written = api.open_model(tmp_path / "tflm.tflite", passes=[])
    assert ops(written) == ops(lowered)
    np.testing.assert_allclose(results(written)[0], results(plain)[0], atol=1e-6)


def test_an_int8_model_is_written_as_it_is_for_any_target(tmp_path):
    save_tflite(quantize_graph(small_cnn(), samples(100), QuantConfig()), tmp_path / "q.tflite")
    for target in (None, "tflm"):
        api.convert_model(tmp_path / "q.tflite", tmp_path / f"{target}.tflite", target=target)
    assert (tmp_path / "None.tflite").read_bytes() == (tmp_path / "tflm.tflite").read_bytes()


def test_moves_of_an_int8_model_are_those_that_the_target_has(tmp_path):
    net = Builder((1, 2, 3, 2, 3, 4))
    graph = net.graph(net.op("transpose", ("x",), TransposeAttrs((0, 5, 3, 1, 4, 2))))
    x = np.random.default_rng(0).normal(size=(20, 2, 3, 2, 3, 4)).astype(np.float32)
    int8 = quantize_graph(graph, x, QuantConfig())
    save_tflite(int8, tmp_path / "q.tflite")
    api.convert_model(tmp_path / "q.tflite", tmp_path / "tflm.tflite", target="tflm")
    written = api.open_model(tmp_path / "tflm.tflite")
    assert {len(written.value(n.output).shape) for n in written.nodes if n.op == "transpose"} == {5}
    stored = (x * 20).astype(np.int8)
    np.testing.assert_array_equal(Model(written)(stored), Model(int8)(stored))
