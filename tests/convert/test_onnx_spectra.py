"""Fourier transforms in ONNX, as onnxruntime computes them."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches, count
from tests.convert.test_onnx_errors import refused
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.onnx.spectra import waves
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate

FRAMES = {
    "with a window": lambda m: (m.const(4, np.int64), m.weights(12), m.const(12, np.int64)),
    "a window alone": lambda m: (m.const(7, np.int64), m.weights(9)),
    "a length alone": lambda m: (m.const(5, np.int64), "", m.const(16, np.int64)),
}


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("how", FRAMES)
def test_frames_are_a_convolution(how, onesided, tmp_path):
    m = OnnxModel(17)
    y = m.op("STFT", m.input(2, 40, 1), *FRAMES[how](m), onesided=onesided)
    graph, _ = assert_matches(m.save(tmp_path, y))
    assert (count(graph, "conv2d"), count(graph, "transpose")) == (1, 0)


def test_frames_have_one_side_where_nothing_is_said(tmp_path):
    m = OnnxModel(17)
    signal = m.op("Relu", m.input(2, 40, 1))
    graph, _ = assert_matches(m.save(tmp_path, m.op("STFT", signal, *FRAMES["with a window"](m))))
    assert graph.value(graph.outputs[0]).shape == (2, 8, 7, 2)


def transformed(m, opset, parts, length=0, axis=1, **attrs):
    m.opset = opset
    x = m.input(2, 7, 3, parts)
    inputs = [m.const(length, np.int64) if length else ""]
    if opset < 20:
        attrs["axis"] = axis
    else:
        inputs.append(m.const(axis, np.int64))
    return m.op("DFT", x, *inputs, **attrs)


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize(
    ("parts", "length", "axis", "attrs"),
    [
        (1, 0, 1, {}),
        (1, 0, 1, {"onesided": 1}),
        (1, 8, -2, {"onesided": 1}),
        (2, 5, 1, {}),
        (2, 9, 2, {"inverse": 1}),
        (1, 4, 0, {"inverse": 1}),
    ],
)
def test_transforms_are_products(opset, parts, length, axis, attrs, tmp_path):
    m = OnnxModel()
    assert_matches(m.save(tmp_path, transformed(m, opset, parts, length, axis, **attrs)))


@pytest.mark.parametrize("length", [0, 8, 9, 12, 13])
def test_back_from_one_side_comes_a_real_signal(length, tmp_path):
    """From five bins, as NumPy has it; bins beyond are left out, and those that lack are zeros."""
    m = OnnxModel(20)
    operands = [m.const(length, np.int64) if length else "", m.const(-2, np.int64)]
    y = m.op("DFT", m.input(3, 5, 2), *operands, onesided=1, inverse=1)
    x = np.random.default_rng(length).normal(size=(3, 5, 2)).astype(np.float32)
    graph = read_onnx(m.save(tmp_path, y))
    (found,) = evaluate(graph, {"x": x}).values()
    wanted = np.fft.irfft(x[..., 0] + 1j * x[..., 1], length or None, axis=1)[..., None]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_the_axis_is_the_last_but_one_where_nothing_is_said(tmp_path):
    m = OnnxModel(20)
    assert_matches(m.save(tmp_path, m.op("DFT", m.input(2, 7, 3, 1))))


def test_waves_are_those_of_the_definition():
    cosines, sines = waves(5, 7, 8)
    angles = 2 * np.pi / 8 * np.outer(np.arange(5), np.arange(7))
    np.testing.assert_allclose(cosines, np.cos(angles), atol=1e-13)
    np.testing.assert_allclose(sines, np.sin(angles), atol=1e-13)


def stft(m, shape, step, length, window=0):
    operands = m.const(step, np.int64), m.weights(window) if window else ""
    return m.op("STFT", m.input(*shape), *operands, m.const(length, np.int64))


FRAME = "frames that lie in the signal, with a window of their length"
REFUSED = [
    (
        "STFT of [2, 40, 2]",
        "real signals: (n, samples) or (n, samples, 1)",
        lambda m: stft(m, (2, 40, 2), 4, 8),
    ),
    ("frames of 41 samples, by 4, of 40", FRAME, lambda m: stft(m, (2, 40, 1), 4, 41)),
    ("frames of 8 samples, by 0, of 40", FRAME, lambda m: stft(m, (2, 40, 1), 0, 8)),
    ("frames of 8 samples, by 4, of 40", FRAME, lambda m: stft(m, (2, 40, 1), 4, 8, window=7)),
    (
        "frames of 0 samples, by 4, of 40",
        FRAME,
        lambda m: m.op("STFT", m.input(2, 40, 1), m.const(4, np.int64)),
    ),
    *(
        (f"STFT of {list(shape)}", "(n, samples)", lambda m, shape=shape: stft(m, shape, 4, 8))
        for shape in ((40,), (2, 40, 1, 1))
    ),
    *(
        (
            f"DFT of {list(shape)}",
            "(..., 1) or (..., 2)",
            lambda m, s=shape: m.op("DFT", m.input(*s)),
        )
        for shape in ((2, 7, 3), (2,), (1,), ())
    ),
    (
        "one side of the spectrum of [2, 7, 3, 2]",
        "onesided 0, a real signal, or complex numbers that are transformed back",
        lambda m: transformed(m, 17, 2, onesided=1),
    ),
    (
        "one side of the spectrum of [2, 7, 3, 1], back",
        "onesided 0, a real signal, or complex numbers that are transformed back",
        lambda m: transformed(m, 17, 1, onesided=1, inverse=1),
    ),
    (
        "DFT of length 7 along dimension 3 of [2, 7, 3, 1]",
        "a length of 1 or more, along another dimension than the last",
        lambda m: transformed(m, 17, 1, length=7, axis=3),
    ),
    (
        "DFT of length -1 along dimension 1 of [2, 7, 3, 1]",
        "a length of 1 or more, along another dimension than the last",
        lambda m: transformed(m, 17, 1, length=-1),
    ),
]


@pytest.mark.parametrize(("says", "expected", "build"), REFUSED)
def test_what_cannot_be_transformed_is_refused(says, expected, build, tmp_path):
    m = OnnxModel(17)
    kind = UnsupportedError if "STFT" in says or "one side" in says else ModelFormatError
    error = refused(m.save(tmp_path, build(m)), kind, says, expected)
    assert error.problem == says
