"""Comparisons, logic and choices, from an ONNX model to the device, through the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.convert.onnx_build import OnnxModel
from tests.ops.peers import run_litert
from tests.sampling import sampled
from tinyrt.cli.app import app
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.interpreter import Model

RUNNER = CliRunner()


def command(*arguments):
    found = RUNNER.invoke(app, [str(a) for a in arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


def gated_attention(m: OnnxModel) -> str:
    """Two convolutions that compete, and attention over those places that a mask leaves."""
    x, mask = m.input(1, 3, 4, 6), m.input(1, 24, name="mask")
    a = m.op("Conv", x, m.weights(8, 3, 3, 3), pads=[1, 1, 1, 1])
    b = m.op("Conv", x, m.weights(8, 3, 3, 3), pads=[1, 1, 1, 1])
    both = m.op("And", m.op("Less", a, b), m.op("Greater", b, m.const(0.3)))
    either = m.op("Or", both, m.op("Not", m.op("GreaterOrEqual", b, m.const(-1.0))))
    y = m.op("Where", either, b, m.op("Where", m.op("Greater", a, m.const(0.0)), a, m.const(0.0)))
    rows = m.op("Transpose", m.op("Reshape", y, m.ints(1, 8, 24)), perm=[0, 2, 1])
    scores = m.op("MatMul", rows, m.op("Reshape", y, m.ints(1, 8, 24)))
    there = m.op("Reshape", m.op("Cast", mask, to=9), m.ints(1, 1, 24))
    shares = m.op("Softmax", m.op("Where", there, scores, m.const(-np.inf)), axis=-1)
    return m.op("MatMul", shares, rows)


CORES = ("cortex-m0", "cortex-m4", "cortex-m55")
CORES_OF = {"int8": CORES[::2], "int16x8": CORES[1:2]}
"""What a sample has of each scheme."""


@pytest.mark.whole
@pytest.mark.parametrize("scheme", sampled(["int8"], CORES_OF))
def test_the_device_answers_as_litert_does(tmp_path, scheme):
    m = OnnxModel(17)
    model = m.save(tmp_path, gated_attention(m))
    rng = np.random.default_rng(0)
    there = (rng.random((48, 24)) < 0.7).astype(np.float32)
    there[:, 0] = 1
    data = {"x": rng.normal(size=(48, 3, 4, 6)).astype(np.float32), "mask": there}
    data["x"] = np.moveaxis(data["x"], 1, -1)
    np.savez(tmp_path / "data.npz", **data)
    quantized = tmp_path / "quantised.tflite"
    command("quantize", model, "-c", tmp_path / "data.npz", "-o", quantized, "--scheme", scheme)
    graph = read_tflite(quantized)
    ops = {node.op for node in graph.nodes}
    assert ops >= {"less", "logical_and", "logical_or", "not_equal", "select_v2"}
    assert not ops & {"cast", "dequantize"}
    sample = {name: x[:1] for name, x in data.items()}
    host = Model(graph)
    stored = host.stored_inputs(sample)
    (expected,) = host.run_raw(stored).values()
    np.testing.assert_array_equal(run_litert(graph, [stored[n] for n in graph.inputs]), expected)
    np.savez(tmp_path / "sample.npz", **sample)
    arguments = ("emulate", quantized, "-i", tmp_path / "sample.npz", "--json")
    for core in sampled(CORES_OF[scheme], CORES):
        assert json.loads(command(*arguments, "--core", core))["bit_exact"]
