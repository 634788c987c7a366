"""Float kernels on emulated cores, with and without a floating-point unit."""

import numpy as np
import pytest

from tests.c.conformance import F32_OPS, all_float_ops
from tests.c.floats import assert_close
from tests.export.test_float import mixed
from tests.firmware.device import CORES_THAT_RUN, ONE_OF_EACH_KIND, run_on_device
from tests.sampling import sampled
from tinyrt import api
from tinyrt.ops.shared.evaluate import evaluate


@pytest.mark.parametrize("core", sampled(["rv32imc"], CORES_THAT_RUN))
def test_ops_are_near_the_references(tmp_path, core):
    graph, feeds = all_float_ops(*sampled((range(1), WITH_CONSTANTS + OTHERS), (range(2), F32_OPS)))
    _, _, outputs = run_on_device(graph, feeds, tmp_path, core)
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split("/")[0], outputs[name].reshape(expected.shape), expected)


WITH_CONSTANTS = ("conv2d", "depthwise_conv2d", "fully_connected", "svdf", "transpose_conv")
OTHERS = ("batch_matmul", "logistic", "softmax", "mean", "unidirectional_sequence_lstm")


@pytest.mark.whole
@pytest.mark.parametrize("core", ONE_OF_EACH_KIND)
def test_ops_that_read_a_blob_answer_the_same(tmp_path, core):
    graph, feeds = all_float_ops(range(1), F32_OPS)
    _, _, plain = run_on_device(graph, feeds, tmp_path / "plain", core)
    _, _, read = run_on_device(graph, feeds, tmp_path / "blob", core, blob=True)
    for name, expected in plain.items():
        np.testing.assert_array_equal(read[name], expected, err_msg=name)


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m0", "cortex-m4"]))
def test_float_ops_around_an_int8_layer(tmp_path, core):
    feeds = {"x": np.random.default_rng(5).normal(size=(1, 5)).astype(np.float32)}
    _, _, outputs = run_on_device(mixed(), feeds, tmp_path, core)
    for name, expected in evaluate(mixed(), feeds).items():
        assert_close("softmax", outputs[name].reshape(expected.shape), expected)


@pytest.mark.whole
def test_device_answers_nearly_what_the_host_answers(zoo, tmp_path):
    model = zoo / "models" / "dscnn_kws_float.tflite"
    report = api.run_emulated(model, samples=2, build_dir=tmp_path)
    assert report.float_error is not None
    assert report.float_error < 1e-5
    assert report.agrees
    assert report.instructions_per_mac < 6
