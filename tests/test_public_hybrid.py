"""Files whose weights are int8 beside floats, as LiteRT answers them: it rounds activations."""

import numpy as np
import pytest

from benchmarks import public, public_hybrid
from benchmarks.public_answers import gap
from benchmarks.public_hybrid import layers_apart, rounded
from benchmarks.public_model import litert, read
from benchmarks.public_step import Outcome
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build

SIDE, CHANNELS = 24, 16
CONV = {"Padding": 0, "StrideW": 1, "StrideH": 1, "DilationWFactor": 1, "DilationHFactor": 1}


class Net:
    """A file that grows op by op."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.tensors = [Tensor("x", (1, SIDE, SIDE, 3))]
        self.ops: list[Op] = []
        self.axes = self.constant(np.array([1, 2], np.int32), "INT32")
        self.small = self.constant(np.full(1, 1e-3, np.float32))

    def constant(self, data, dtype="FLOAT32", scale=None) -> str:
        name = f"c{len(self.tensors)}"
        scales = {} if scale is None else {"scale": scale}
        self.tensors.append(Tensor(name, data.shape, dtype, data, **scales))
        return name

    def op(self, builtin, shape, *inputs, table=None, **fields) -> str:
        name = f"t{len(self.tensors)}"
        self.tensors.append(Tensor(name, shape))
        self.ops.append(Op(builtin, inputs, [name], table, fields))
        return name

    def conv(self, x, c_in, c_out) -> str:
        w = self.rng.integers(-127, 128, (c_out, 3, 3, c_in)).astype(np.int8)
        scales = self.rng.uniform(0.5, 1.5, c_out) / (127 * 0.58 * np.sqrt(9 * c_in))
        weights = self.constant(w, "INT8", tuple(map(float, scales)))
        bias = self.constant(self.rng.normal(0, 0.1, c_out).astype(np.float32))
        shape = (1, SIDE, SIDE, c_out)
        return self.op("CONV_2D", shape, x, weights, bias, table="Conv2DOptions", **CONV)

    def norm(self, x) -> str:
        """Of each channel of each sample."""
        whole, one = (1, SIDE, SIDE, CHANNELS), (1, 1, 1, CHANNELS)
        keeps = {"table": "ReducerOptions", "KeepDims": True}
        mean = self.op("MEAN", one, x, self.axes, **keeps)
        squares = self.op("SQUARED_DIFFERENCE", whole, x, mean)
        variance = self.op("MEAN", one, squares, self.axes, **keeps)
        factor = self.op(
            "RSQRT", one, self.op("ADD", one, variance, self.small, table="AddOptions")
        )
        centred = self.op("SUB", whole, x, mean, table="SubOptions")
        return self.op("MUL", whole, centred, factor, table="MulOptions")

    def bytes(self, y) -> bytes:
        return build(Subgraph(self.tensors, self.ops, ["x"], [y]))


def style(layers: int) -> bytes:
    """Convolutions, instance norms and ReLUs, as networks have them that transfer a style."""
    net, x = Net(), "x"
    for i in range(layers - 1):
        x = net.norm(net.conv(x, CHANNELS if i else 3, CHANNELS))
        x = net.op("RELU", (1, SIDE, SIDE, CHANNELS), x)
    return net.bytes(net.conv(x, CHANNELS, 3))


def dense(asymmetric: bool, shape: tuple[int, ...] = (3, 32)) -> bytes:
    w = np.random.default_rng(1).integers(-127, 128, (8, 32)).astype(np.int8)
    tensors = [Tensor("x", shape), Tensor("w", (8, 32), "INT8", w, 0.01), Tensor("y", (3, 8))]
    fields = {"AsymmetricQuantizeInputs": asymmetric}
    op = Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnectedOptions", fields)
    return build(Subgraph(tensors, [op], ["x"], ["y"]))


def answers_of(path, shape):
    """The inputs, and the answers of tinyrt and of LiteRT."""
    x = [[np.random.default_rng(5).normal(0.3, 1, shape).astype(np.float32)]]
    return x, read(path, x, "cortex-m4").outputs, litert(path, x)


def test_numbers_come_to_the_grid_of_their_row():
    x = np.array([[0.0, 255.0, 1.4], [-1.0, 0.5, 1.0]], np.float32)
    np.testing.assert_allclose(rounded(x, True, symmetric=False)[0], [0, 255, 1])
    np.testing.assert_allclose(rounded(x, True, symmetric=True)[1], np.round(127 * x[1]) / 127)
    np.testing.assert_allclose(rounded(x, False, symmetric=True)[0], [0, 255, 255 / 127], atol=1e-4)
    assert not rounded(np.zeros((2, 3), np.float32), True, symmetric=False).any()
    between = np.array([[0, 255, 2.5]], np.float32)
    assert rounded(between, True, symmetric=False).tolist() == [[0, 255, 3]]


@pytest.mark.parametrize("shape", [(3, 32), (3, 2, 4, 4)])
@pytest.mark.parametrize("asymmetric", [False, True])
def test_dense_layers_round_as_the_file_says(asymmetric, shape, tmp_path):
    pytest.importorskip("ai_edge_litert")
    path = tmp_path / "dense.tflite"
    path.write_bytes(dense(asymmetric, shape))
    x, found, expected = answers_of(path, shape)
    assert layers_apart(path, x) < 1e-5
    assert gap(found, expected).part > 1e-4


def dies(path, inputs):
    raise RuntimeError


def here(step, *arguments, seconds):
    return Outcome() if step is dies else Outcome(step(*arguments))


@pytest.fixture
def litert_alone(monkeypatch):
    pytest.importorskip("ai_edge_litert")
    monkeypatch.setattr(public, "tflm", dies)
    return public.Options(device=False)


@pytest.mark.slow
@pytest.mark.whole
def test_the_rounding_of_activations_is_all_that_sets_deep_networks_apart(tmp_path, litert_alone):
    path = tmp_path / "style.tflite"
    path.write_bytes(style(16))
    x, found, expected = answers_of(path, (1, SIDE, SIDE, 3))
    assert gap(found, expected).part > 1 / 16
    assert layers_apart(path, x) < 1e-5
    row = public.row_of(path, "style", litert_alone)
    assert (row.word, row.peer, row.defect) == ("by rule", "LiteRT", "")
    assert row.answers.startswith("by rule (hybrid): ")


@pytest.mark.slow
def test_a_layer_that_is_wrong_is_told_from_rounding(tmp_path, litert_alone, monkeypatch):
    path = tmp_path / "style.tflite"
    path.write_bytes(style(3))
    monkeypatch.setattr(public_hybrid, "_is_hybrid", lambda graph, node: False)
    monkeypatch.setattr(public, "run_step", here)
    row = public.row_of(path, "style", litert_alone)
    assert row.defect.startswith("its answer differs: "), row
