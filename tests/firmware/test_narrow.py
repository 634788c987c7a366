"""Weights of four bits: half the bytes of filters on every core, at little cost on a Cortex-M4."""

import numpy as np
import pytest

from benchmarks.narrow import narrow_twin
from benchmarks.sparse import stored_as
from tests.firmware.test_zoo import MODELS, emulate
from tests.sampling import sampled
from tinyrt.backends.c.weights import Weights
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.export import export_graph
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate

MAX_INSTRUCTIONS = {
    "resnet8": 1.21,
    "dscnn_kws": 1.28,
    "mobilenet_vww": 1.18,
    "streaming_wakeword": 1.24,
    "autoencoder_ad": 1.15,
}
"""model -> most instructions on a Cortex-M4, to those of the int8 twin with all its zeros."""

MAX_FILTER_BYTES = 0.515
"""Bytes of filters to their weights: half, and what blocks of channels are padded with. Layers of
mostly zeros, which int8 models store without these, do so here where that takes less still."""


@pytest.mark.parametrize("name", sampled(["mobilenet_vww", "streaming_wakeword"], MODELS))
def test_narrow_weights_are_about_as_fast(zoo, tmp_path, name):
    with stored_as(Weights.DENSE):
        wide, _ = emulate(zoo, name, tmp_path / "wide", samples=1)
    twin = narrow_twin(zoo / "models" / f"{name}_int8.tflite")
    path = save_tflite(twin, tmp_path / f"{name}.tflite")
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    (x,) = twin.input_values
    inputs = {x.name: golden["inputs"].reshape(-1, *x.shape[1:])[:1]}
    narrow = run_emulated(
        path, inputs=inputs, expected=evaluate(twin, inputs), build_dir=tmp_path / "narrow"
    )
    assert narrow.bit_exact
    assert narrow.instructions <= MAX_INSTRUCTIONS[name] * wide.instructions
    assert narrow.filter_bytes < wide.filter_bytes


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
def test_narrow_filters_take_half_the_bytes(zoo, tmp_path, core):
    for name in MODELS:
        twin = narrow_twin(zoo / "models" / f"{name}_int8.tflite")
        project = export_graph(twin, tmp_path / name, core=core)
        weights = sum(n.input(1).size for n in twin.bound() if OPS[n.op].int4_weights)
        assert project.filter_bytes <= MAX_FILTER_BYTES * weights
