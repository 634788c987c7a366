"""Weights of four bits: half the bytes of filters on every core, at little cost on a Cortex-M4."""

import numpy as np
import pytest

from benchmarks.narrow import narrow_twin
from benchmarks.sparse import stored_as
from tests.firmware.test_zoo import MODELS, emulate
from tests.sampling import sampled
from tinyrt import api, cost
from tinyrt.backends.c.weights import Weights
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.export import export_graph
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate

MAX_INSTRUCTIONS = {
    "resnet8": 1.22,
    "dscnn_kws": 1.28,
    "mobilenet_vww": 1.18,
    "streaming_wakeword": 1.24,
    "autoencoder_ad": 1.21,
}
"""model -> most instructions on a Cortex-M4, to those of the int8 twin with all its zeros."""

MAX_FILTER_BYTES = 0.515
"""Bytes of filters to their weights: half, and what blocks of channels are padded with. Layers of
mostly zeros, which int8 models store without these, do so here where that takes less still."""


@pytest.mark.parametrize("name", sampled(["streaming_wakeword"], MODELS))
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


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m0", "cortex-m4", "cortex-m55"]))
def test_narrow_filters_take_half_the_bytes(zoo, tmp_path, core):
    for name in sampled(MODELS[:2], MODELS):
        twin = narrow_twin(zoo / "models" / f"{name}_int8.tflite")
        project = export_graph(twin, tmp_path / name, core=core)
        weights = sum(n.input(1).size for n in twin.bound() if OPS[n.op].int4_weights)
        assert project.filter_bytes <= MAX_FILTER_BYTES * weights
        blocks = [layer for layer in project.sparse if layer.form is Weights.BLOCKS]
        assert all(0.2 < layer.ratios["blocks"][0] < 1.2 for layer in blocks)
        assert blocks or (core, name) != ("cortex-m0", "autoencoder_ad")


LSTMS = [
    ("cortex-m4", "lstm_49_40_64", 1.122),
    ("cortex-m3", "lstm_28_28_20", 1.165),
    ("cortex-m55", "lstm_29_12_24", 1.05),
    ("cortex-m4", "lstm_29_12_24", 1.125),
    ("cortex-m4", "lstm_49_257_80", 1.12),
    ("cortex-m3", "lstm_49_40_64", 1.15),
    ("cortex-m55", "lstm_49_40_64", 1.04),
    ("cortex-m0", "lstm_29_12_24", 1.17),
]
"""Core, model of one op, and most instructions to those of its int8 twin."""


@pytest.mark.whole
@pytest.mark.parametrize(("core", "name", "most"), LSTMS)
def test_narrow_lstms_are_about_as_fast(zoo, tmp_path, core, name, most):
    path = zoo / "models" / "kernels" / f"{name}.tflite"
    twin = save_tflite(narrow_twin(path), tmp_path / f"{name}.tflite")
    wide, narrow = (
        api.run_emulated(file, core=core, samples=1, build_dir=tmp_path / kind)
        for kind, file in (("wide", path), ("narrow", twin))
    )
    assert narrow.bit_exact
    assert narrow.instructions <= most * wide.instructions
    (node,) = read_tflite(path).bound()
    first_sums = 8 * 4 * node.output.shape[2]
    assert 2 * (narrow.flash.weights - first_sums) == wide.flash.weights - first_sums
    if core != "cortex-m0":  # whose figures are those of a Cortex-M3, times a bound
        assert cost(twin, core=core).instructions == pytest.approx(narrow.instructions, rel=0.03)
