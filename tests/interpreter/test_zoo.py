"""Real models on random inputs against TFLM, and what starting up compiles."""

import os
import subprocess
import sys
from itertools import count

import numpy as np
import pytest

from tests.sampling import sampled
from tinyrt.api import profile_model
from tinyrt.interpreter import BACKENDS, Interpreter, load
from tinyrt.interpreter.model import BATCH

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
SAMPLES = sampled(40, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(MODELS[1::2], MODELS))
def test_random_inputs_equal_the_device(zoo, name):
    """All threads, batches that are full and one that is not, and samples one by one."""
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    path = str(zoo / "models" / f"{name}_int8.tflite")
    model = load(path, num_threads=3)
    shape = model.graph.input_values[0].shape[1:]
    x = np.random.default_rng(1).integers(-128, 128, (SAMPLES, *shape)).astype(np.int8)
    peer = tflm.runtime.Interpreter.from_file(path)
    expected = []
    for sample in x:
        peer.set_input(sample[None], 0)
        peer.invoke()
        expected.append(peer.get_output(0)[0])
    np.testing.assert_array_equal(model(x), expected)
    np.testing.assert_array_equal(np.concatenate([model(s[None]) for s in x[:3]]), expected[:3])
    repeated = np.resize(x, (3 * BATCH + 5, *shape))
    found = model(repeated)
    np.testing.assert_array_equal(found, np.resize(expected, (len(repeated), *found.shape[1:])))


@pytest.mark.parametrize("backend", sorted(set(BACKENDS) - {"native"}))
def test_every_backend_reports_ops_to_a_watcher(zoo, backend):
    path = zoo / "models" / "autoencoder_ad_int8.tflite"
    seen = []
    interpreter = Interpreter(path, backend=backend, on_op=lambda n, y: seen.append(n.index))
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert seen == list(range(len(interpreter.graph.nodes)))


def test_a_profile_names_every_op_and_shares_out_the_time(zoo):
    found = profile_model(zoo / "models" / "streaming_wakeword_int8.tflite")
    assert [t.index for t in found] == list(range(len(found)))
    assert sum(t.share for t in found) == pytest.approx(1)
    assert sum(t.macs for t in found) == 826_368
    assert all(t.microseconds > 0 for t in found)


def test_a_profile_counts_in_microseconds(zoo, monkeypatch):
    """By a clock that goes a thousandth of a second on at each look at it."""
    ticks = count(9)
    monkeypatch.setattr("tinyrt.interpreter.profile.time.perf_counter", lambda: next(ticks) / 1000)
    found = profile_model(zoo / "models" / "autoencoder_ad_int8.tflite")
    assert [t.microseconds for t in found] == pytest.approx([1000] * len(found))


START = """
import sys
from tinyrt.interpreter import Interpreter
interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
interpreter.invoke()
"""


@pytest.mark.slow
def test_a_warm_start_compiles_nothing_and_a_cold_one_says_that_it_does(zoo, tmp_path):
    command = [sys.executable, "-c", START, zoo / "models" / "autoencoder_ad_int8.tflite"]
    env = os.environ | {"TINYRT_CACHE": str(tmp_path)}
    cold, warm = (
        subprocess.run(command, capture_output=True, text=True, check=True, env=env).stderr
        for _ in range(2)
    )
    assert "compiling" in cold
    assert warm == ""
