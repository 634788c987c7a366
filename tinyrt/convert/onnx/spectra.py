"""ONNX's Fourier transforms as products with constant matrices: DFT, and STFT of framed signals."""

from __future__ import annotations

import numpy as np
import onnx

from tinyrt import budget
from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.expansion import Expansion
from tinyrt.convert.onnx.shapes import normal_axes, sized
from tinyrt.convert.onnx.weights import Array
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.floatmath import elementary


def waves(bins: int, samples: int, length: int) -> tuple[Array, Array]:
    """Cosines and sines, (bins, samples), of a transform of that length: at ``2 pi k n / length``.

    Raises:
        BudgetError: they are too large.

    """
    sized((bins, samples), "the waves of a Fourier transform", copies=12)
    turns = np.outer(np.arange(bins), np.arange(samples)) % length
    angles = turns * (2 * np.pi / length)
    return elementary.cos(angles), elementary.sin(angles)


def _bins(call: Call, length: int) -> int:
    return length // 2 + 1 if call.node.get_int("onesided", _ONESIDED[call.node.op]) else length


_ONESIDED = {"DFT": 0, "STFT": 1}
"""The attribute's value where a node has none."""


def stft(call: Call) -> list[onnx.NodeProto]:
    """Frames (n, frames, bins, 2) of a signal (n, samples) or (n, samples, 1): a convolution.

    Raises:
        UnsupportedError: the signal is complex.
        ModelFormatError: frames have no length, or another one than their window.

    """
    shape, step = call.shape(0), call.whole(1, "the frames' step")
    if len(shape) not in (2, 3) or shape[2:] == (2,):
        raise UnsupportedError(
            f"STFT of {list(shape)}",
            expected="real signals: (n, samples) or (n, samples, 1)",
            hint="transform real and imaginary parts one by one",
        )
    window = call.optional_array(2, "the window")
    length = call.whole(3, "the frames' length") if call.has(3) else 0
    length = length or (0 if window is None else window.size)
    fits = window is None or window.shape == (length,)
    if not 1 <= length <= shape[1] or step < 1 or not fits:
        raise ModelFormatError(
            f"frames of {length} samples, by {step}, of {shape[1]}",
            expected="frames that lie in the signal, with a window of their length",
        )
    bins = _bins(call, length)
    cosines, sines = waves(bins, length, length)
    kernels = np.concatenate([cosines, -sines]) * (1 if window is None else window)
    b = Expansion(call.node)
    signal = b.op("Reshape", (b.name(0), b.constant(np.array([shape[0], 1, shape[1]]))))
    w = _constant(b, kernels.astype(np.float32)[:, None])
    frames = b.op("Conv", (signal, w), strides=[step])
    parts = b.op("Reshape", (frames, b.constant(np.array([shape[0], 2, bins, -1]))))
    b.op("Transpose", (parts,), perm=[0, 3, 2, 1])
    return b.ended()


def dft(call: Call) -> list[onnx.NodeProto]:
    """The transform along one axis of (..., 1), real, or (..., 2), complex: a product.

    Back from one side of a spectrum, (..., 2), it gives a real signal, (..., 1).

    Raises:
        ModelFormatError: the last dimension is neither 1 nor 2, or the axis is the last.
        UnsupportedError: one side is asked for of a complex signal, or given as real numbers.

    """
    node, shape = call.node, call.shape(0)
    rank, parts = len(shape), shape[-1] if shape else 0
    given = node.get_int("axis", 1) if call.opset < 20 else -2
    given = call.whole(2, "the axis") if call.opset >= 20 and call.has(2) else given
    if rank < 2 or parts not in (1, 2):
        raise ModelFormatError(f"DFT of {list(shape)}", expected="(..., 1) or (..., 2)")
    (axis,) = normal_axes([given], rank)
    inverse, onesided = node.get_int("inverse", 0) != 0, node.get_int("onesided", 0) != 0
    if onesided and inverse != (parts == 2):
        raise UnsupportedError(
            f"one side of the spectrum of {list(shape)}{', back' * inverse}",
            expected="onesided 0, a real signal, or complex numbers that are transformed back",
            hint="take the whole spectrum, and cut it",
        )
    usual = 2 * (shape[axis] - 1) if onesided and inverse else shape[axis]
    length = call.whole(1, "the length") if call.has(1) else usual
    if axis == rank - 1 or length < 1:
        raise ModelFormatError(
            f"DFT of length {length} along dimension {axis} of {list(shape)}",
            expected="a length of 1 or more, along another dimension than the last",
        )
    if onesided and inverse:
        bins, matrix = length, _back(shape[axis], length)
    else:
        bins = _bins(call, length)
        matrix = _matrix(shape[axis], bins, length, parts, inverse=inverse)
    b = Expansion(node)
    order = [i for i in range(rank - 1) if i != axis] + [axis, rank - 1]
    rest = [shape[i] for i in order[:-2]]
    moved = b.op("Transpose", (b.name(0),), perm=order)
    rows = b.op("Reshape", (moved, b.constant(np.array([*rest, shape[axis] * parts]))))
    product = b.op("MatMul", (rows, _constant(b, matrix)))
    pairs = b.op("Reshape", (product, b.constant(np.array([*rest, bins, -1]))))
    b.op("Transpose", (pairs,), perm=[int(i) for i in np.argsort(order)])
    return b.ended()


def _constant(b: Expansion, data: Array) -> str:
    """A constant's name; the node holds a copy of it.

    Raises:
        BudgetError: it is too large.

    """
    budget.current().hold(2 * data.nbytes, f"the waves of '{b.node.outputs[0]}'")
    return b.constant(data)


def _matrix(samples: int, bins: int, length: int, parts: int, *, inverse: bool) -> Array:
    """(samples * parts, bins * 2): what each number adds to each bin's real and imaginary part.

    Samples beyond the length are left out, and where there are fewer, zeros follow them.
    """
    used = min(samples, length)
    cosines, sines = (wave.T for wave in waves(bins, used, length))
    sines = sines if inverse else -sines
    whole = np.zeros((samples, parts, bins, 2))
    whole[:used, 0, :, 0], whole[:used, 0, :, 1] = cosines, sines
    if parts == 2:
        whole[:used, 1, :, 0], whole[:used, 1, :, 1] = -sines, cosines
    scale = length if inverse else 1
    return np.asarray(whole.reshape(samples * parts, bins * 2) / scale, np.float32)


def _back(bins: int, length: int) -> Array:
    """(bins * 2, length): what each bin of one side adds to a real signal.

    The other side is its mirror image: all bins but the first, and the middle one, count twice.
    """
    used = min(bins, length // 2 + 1)
    cosines, sines = waves(used, length, length)
    mirrored = 2 * np.arange(used) % length != 0
    times = np.where(mirrored, 2.0, 1.0)
    whole = np.zeros((bins, 2, length))
    whole[:used, 0], whole[:used, 1] = cosines * times[:, None], -sines * times[:, None]
    return np.asarray(whole.reshape(bins * 2, length) / length, np.float32)
