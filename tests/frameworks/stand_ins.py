"""Files as the frameworks' exporters write them, for the pages in runs without the frameworks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from tests.convert.onnx_build import OnnxModel, channels_last, expected
from tinyrt.api import convert_model

SAMPLES = 40


def _images(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((SAMPLES, *shape)).astype(np.float32)


def _answers(path: Path, name: str, x: np.ndarray) -> np.ndarray:
    return np.concatenate([expected(path, {name: row[None]})[0] for row in x])


def _network(m: OnnxModel, x: str) -> str:
    """Convolution, batch norm, ReLU6, convolution, ReLU, global mean, dense layer; NCHW."""
    y = m.op("Conv", x, m.weights(8, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    norm = [m.weights(8), m.weights(8), m.weights(8), m.weights(8, low=0.5)]
    y = m.op("Clip", m.op("BatchNormalization", y, *norm), m.const(0.0), m.const(6.0))
    y = m.op("Relu", m.op("Conv", y, m.weights(16, 8, 3, 3), m.weights(16), pads=[1, 1, 1, 1]))
    y = m.op("Reshape", m.op("GlobalAveragePool", y), m.ints(-1, 16))
    return m.op("Gemm", y, m.weights(10, 16), m.weights(10), transB=1)


def pytorch(folder: Path) -> None:
    """A CNN over images of a batch that the file leaves open."""
    m = OnnxModel(18)
    path = m.save(folder, _network(m, m.input("batch", 3, 32, 24))).rename(folder / "cnn.onnx")
    images = _images(3, 32, 24)
    np.savez(folder / "images.npz", x=images)
    np.save(folder / "answers.npy", _answers(path, "x", images))


def keras(folder: Path) -> None:
    """A CNN in .tflite, and an LSTM as tf2onnx writes it, with time first inside."""
    pytorch(folder)
    convert_model(folder / "cnn.onnx", folder / "cnn_float.tflite")
    np.savez(folder / "images.npz", x=channels_last(np.load(folder / "images.npz")["x"]))
    m = OnnxModel(15)
    turned = m.op("Transpose", m.input("batch", 16, 8), perm=[1, 0, 2])
    weights = [m.weights(1, 48, 8), m.weights(1, 48, 12), m.weights(1, 96)]
    m.op("LSTM", turned, *weights, hidden_size=12, outputs=2)
    last = m.op("Squeeze", f"{m.nodes[-1].output[1]}", m.ints(0))
    y = m.op("Add", m.op("MatMul", last, m.weights(12, 4)), m.weights(4))
    path = m.save(folder, y).rename(folder / "lstm.onnx")
    signals = _images(16, 8)
    np.savez(folder / "signals.npz", x=signals)
    np.save(folder / "states.npy", _answers(path, "x", signals))


def jax(folder: Path) -> None:
    """A CNN over images channels-last, with GELU written by tanh."""
    m = OnnxModel(21)
    x = m.op("Transpose", m.input(1, 32, 24, 3), perm=[0, 3, 1, 2])
    y = m.op("Conv", x, m.weights(8, 3, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER")
    y = m.op("Transpose", m.op("Relu", y), perm=[0, 2, 3, 1])
    y = m.op("ReduceMean", y, m.ints(1, 2), keepdims=0)
    y = m.op("Gelu", m.op("MatMul", y, m.weights(8, 32)), approximate="tanh")
    path = m.save(folder, m.op("MatMul", y, m.weights(32, 10))).rename(folder / "cnn.onnx")
    images = _images(32, 24, 3)
    np.savez(folder / "images.npz", x=images)
    np.save(folder / "answers.npy", _answers(path, "x", images))


def transformers(folder: Path) -> None:
    """Attention among words of a table, hidden where the mask is zero."""
    m, words, length = OnnxModel(18), 100, 16
    shape = (1, length)
    ids = m.input(*shape, name="input_ids", dtype=onnx.TensorProto.INT64)
    mask = m.input(*shape, name="attention_mask", dtype=onnx.TensorProto.INT64)
    x = m.op("Add", m.op("Gather", m.weights(words, 32), ids), m.weights(1, length, 32))
    places = np.stack([np.zeros(length), np.arange(length)], -1)[None, None]
    kept = m.op("Cast", mask, to=onnx.TensorProto.BOOL)
    kept = m.op("GatherND", kept, m.const(places, np.int64))
    bias = m.op("Where", kept, m.const(0.0), m.const(-3.4028235e38))
    q, k, v = (m.op("MatMul", x, m.weights(32, 32, low=-0.2)) for _ in range(3))
    scores = m.op("MatMul", q, m.op("Transpose", k, perm=[0, 2, 1]))
    scores = m.op("Add", m.op("Mul", scores, m.const(32**-0.5)), bias)
    y = m.op("Add", x, m.op("MatMul", m.op("Softmax", scores, axis=-1), v))
    first = m.op("Gather", y, m.const(0, np.int64), axis=1)
    logits = m.op("Gemm", m.op("Tanh", first), m.weights(3, 32), m.weights(3), transB=1)
    path = m.save(folder, logits).rename(folder / "bert.onnx")
    rng = np.random.default_rng(1)
    tokens = {
        "input_ids": rng.integers(1, words, (SAMPLES, length)),
        "attention_mask": np.int64(np.arange(length) < rng.integers(4, length + 1, (SAMPLES, 1))),
    }
    np.savez(folder / "tokens.npz", **tokens)
    rows = ({name: array[i : i + 1] for name, array in tokens.items()} for i in range(SAMPLES))
    np.save(folder / "answers.npy", np.concatenate([expected(path, row)[0] for row in rows]))
