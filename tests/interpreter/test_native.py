"""The exported C, built for this host: the device's answers, one library per model, kept."""

import shutil

import numpy as np
import pytest

from tests.graphs import small_cnn
from tests.ops.build import build_s8
from tests.ops.cases import CASES, rng_of
from tinyrt.errors import ToolError, UnsupportedError
from tinyrt.interpreter import Interpreter, load, native_backend
from tinyrt.ops import OPS
from tinyrt.ops.evaluate import evaluate

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, native_backend.COMPILERS)), reason="no C compiler on this machine"
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path))
    return tmp_path / "native"


@pytest.mark.parametrize("name", MODELS)
def test_golden_outputs(zoo, name):
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    model = load(zoo / "models" / f"{name}_int8.tflite", backend="native")
    np.testing.assert_array_equal(model(golden["inputs"][:, 0]), golden["outputs"][:, 0])


@pytest.mark.parametrize("op", sorted(n for n, s in OPS.items() if s.emit_c is not None))
def test_every_op_that_has_c(op):
    rng = rng_of(op, 3)
    built = build_s8(CASES[op](rng), rng)
    interpreter = Interpreter.from_graph(built.graph, backend="native")
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], built.feeds[detail["name"]])
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(found, evaluate(built.graph, built.feeds)["out"])


def _dense(seed):
    rng = rng_of("fully_connected", seed)
    return build_s8(CASES["fully_connected"](rng), rng)


def test_a_library_is_built_once_per_content(cache):
    for seed in (1, 1, 2, 1):
        Interpreter.from_graph(_dense(seed).graph, backend="native").allocate_tensors()
    assert len(list(cache.iterdir())) == 2


def test_what_cannot_be_done_is_said(monkeypatch):
    with pytest.raises(UnsupportedError, match="conv2d"):
        Interpreter.from_graph(small_cnn(), backend="native").allocate_tensors()
    watched = Interpreter.from_graph(_dense(1).graph, backend="native", on_op=print)
    watched.allocate_tensors()
    with pytest.raises(UnsupportedError, match="one call"):
        watched.invoke()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError, match="no C compiler"):
        Interpreter.from_graph(_dense(1).graph, backend="native").allocate_tensors()
