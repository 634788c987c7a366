"""Architectures that onnx ships and that PyTorch exports, beside onnxruntime."""

import pytest

from benchmarks.convert import measure
from tests import onnx_light


@pytest.mark.whole
def test_mobilenet_converts_in_little_memory(tmp_path):
    found = measure(tmp_path)
    assert found["bytes"] < 3.8 * found["model_bytes"]
    assert found["transposes"] == 0


@pytest.mark.slow
def test_a_shipped_architecture(tmp_path):
    outcome = onnx_light.run("squeezenet", tmp_path)
    assert outcome.error < 1e-5
    assert outcome.litert < 1e-5


EXPORTS = (("mobilenet_v3_small", False), ("transformer", False), ("gru", False), ("tcn", True))


@pytest.mark.parametrize(("name", "dynamo"), EXPORTS)
def test_exports_of_torch(name, dynamo, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tinyrt[torch]'")
    if dynamo:
        pytest.importorskip("onnxscript", reason="PyTorch's new exporter needs onnxscript")
    from tests import onnx_torch
    from tests.convert.torch_models import CONVOLUTIONAL

    outcome = onnx_torch.run(name, dynamo, tmp_path, quantize=False)
    assert outcome.error < 1e-4
    assert outcome.litert < 1e-4
    assert name not in CONVOLUTIONAL or outcome.transposes == 0
