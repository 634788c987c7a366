"""Float LSTMs of .tflite files, which keep their states from run to run: so do quantised ones."""

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tinyrt.api import quantize_within
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.quantize import QuantConfig, Scheme
from tinyrt.quantize.mixed.budget import Budget

STEPS, WIDTH, UNITS = 7, 5, 6


@pytest.fixture
def model(tmp_path):
    """Five numbers, seven times -> what the LSTM's last six units say, summed up by a layer."""
    rng = np.random.default_rng(3)

    def floats(name, *shape):
        return Tensor(name, shape, data=rng.normal(size=shape).astype(np.float32) / 2)

    weights = [floats(f"w{i}", UNITS, WIDTH if i < 4 else UNITS) for i in range(8)]
    biases = [floats(f"b{i}", UNITS) for i in range(4)]
    states = [Tensor(n, (1, UNITS), variable=True) for n in ("hidden", "cell")]
    ports = [Tensor("x", (1, STEPS, WIDTH)), Tensor("all", (1, STEPS, UNITS))]
    inputs = ["x", *(w.name for w in weights), "", "", "", *(b.name for b in biases), "", ""]
    inputs += ["hidden", "cell", "", "", "", ""]
    table = "UnidirectionalSequenceLSTMOptions"
    lstm = Op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, ["all"], table, {"FusedActivationFunction": 4}
    )
    tensors = [*ports, *weights, *biases, *states, floats("d", 3, UNITS), Tensor("y", (7, 3))]
    dense = Op("FULLY_CONNECTED", ["all", "d"], ["y"], "FullyConnectedOptions")
    path = tmp_path / "lstm.tflite"
    path.write_bytes(build(Subgraph(tensors, [lstm, dense], ["x"], ["y"])))
    return path


@pytest.fixture
def samples():
    return np.random.default_rng(4).normal(size=(30, STEPS, WIDTH)).astype(np.float32)


def decibels(found, expected):
    return 10 * np.log10(np.mean(expected**2) / np.mean((found - expected) ** 2))


@pytest.mark.parametrize(("scheme", "least"), [("int8", 25), ("int16x8", 35), ("weights-int8", 35)])
def test_states_are_kept_from_run_to_run(model, samples, tmp_path, scheme, least):
    target = tmp_path / "q.tflite"
    tinyrt.quantize_model(model, samples, target, config=QuantConfig(scheme=Scheme(scheme)))
    assert len(read_tflite(target).states) == 2
    whole, quantised = tinyrt.load(model), tinyrt.load(target)
    runs = [(whole(x[None]), quantised(x[None])) for x in samples[:6]]
    expected, found = (np.stack(answers) for answers in zip(*runs, strict=True))
    assert decibels(found, expected) > least
    whole.reset()
    anew = whole(samples[5][None])
    assert decibels(anew, expected[5]) < least  # the states tell


def test_budgets_keep_states(model, samples, tmp_path):
    target = tmp_path / "q.tflite"
    quantize_within(model, samples[:12], target, Budget(max_bytes=20_000))
    assert len(read_tflite(target).states) == 2
