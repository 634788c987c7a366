"""The compiled convolution and its derivatives against the plain formulas."""

import numpy as np
import pytest

from tinyrt.ops import transpose_conv
from tinyrt.ops.shared.convolution import CONVOLUTION, adjoint, bias_gradient, biased, convolve
from tinyrt.ops.shared.convolution_shapes import Shapes
from tinyrt.ops.shared.window import Window
from tinyrt.ops.transpose_conv import TransposeConvAttrs


def drawn(rng):
    """Operands of a random convolution: any window, groups, and channels around vectors' sizes."""
    groups = int(rng.choice([1, 1, 2, 3, 20]))
    c_in, c_out = (
        (1, int(rng.choice([1, 2])))
        if groups == 20
        else (int(c) for c in rng.choice([1, 2, 3, 8, 15, 16, 17, 33], 2))
    )
    hw = tuple(int(n) for n in rng.integers(4, 12, 2))
    kernel, stride, dilation = ((int(a), int(b)) for a, b in rng.integers(1, 4, (3, 2)))
    if rng.random() < 0.4:
        stride = (1, 1)
    padding = "SAME"
    if all((k - 1) * d < n for k, d, n in zip(kernel, dilation, hw, strict=True)):
        padding = str(rng.choice(["SAME", "VALID"]))
    window = Window.of(hw, kernel, stride, padding, dilation)
    x = rng.normal(size=(int(rng.integers(1, 4)), *hw, c_in * groups))
    w = rng.normal(size=(c_out * groups, *kernel, c_in))
    return Shapes(window, x.shape, w.shape), x, w


def weight_gradient(shapes, x, grad):
    patches = shapes.window.patches(shapes.window.pad(x))
    parts = [
        np.einsum("nhwijc,nhwo->oijc", patches[..., ins], grad[..., outs])
        for ins, outs in shapes.groups()
    ]
    return np.concatenate(parts)


def agree(rng, shapes, x, w, dtype):
    """The products, their derivatives and sums are those of the plain formulas in float64."""
    exact = convolve(shapes, x, w)
    grad = rng.normal(size=exact.shape)
    x, w, grad = (a.astype(dtype) for a in (x, w, grad))
    bias = rng.normal(size=shapes.w[0]).astype(dtype)
    pairs = (
        (biased(shapes, x, w, bias), exact + bias),
        (bias_gradient(grad), grad.astype(float).sum((0, 1, 2))),
        (CONVOLUTION.y.forward(shapes, x, w), exact),
        (CONVOLUTION.dx.forward(shapes, grad, w), adjoint(shapes, grad.astype(float), w)),
        (CONVOLUTION.dw.forward(shapes, x, grad), weight_gradient(shapes, x, grad)),
    )
    for found, expected in pairs:
        assert found.dtype == dtype
        tolerance = 1e-4 if dtype == np.float32 else 1e-10
        limit = tolerance * max(1, abs(expected).max())
        np.testing.assert_allclose(found, expected, tolerance, limit, err_msg=str(shapes))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiles_are_the_convolution_and_its_derivatives(dtype):
    rng = np.random.default_rng(0)
    for _ in range(60):
        agree(rng, *drawn(rng), dtype)


@pytest.mark.parametrize("w_shape", [(8, 3, 3, 16), (16, 3, 3, 1), (8, 3, 3, 4)])
def test_batches_of_several_parts(w_shape):
    """Parts, the last of which is smaller, are written side by side, and sums are over all."""
    rng, x_shape = np.random.default_rng(3), (13, 40, 20, 16)
    shapes = Shapes(Window.of(x_shape[1:3], (3, 3), (2, 1), "SAME"), x_shape, w_shape)
    agree(rng, shapes, rng.normal(size=x_shape), rng.normal(size=w_shape), np.float64)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_weights_that_are_no_numbers_do_not_meet_padding():
    rng = np.random.default_rng(1)
    for _ in range(60):
        shapes, x, w = drawn(rng)
        w.reshape(-1)[rng.integers(w.size, size=2)] = np.inf, np.nan
        found = biased(shapes, x, w, None)
        window, inside = shapes.window, shapes.window.pad(np.ones(x.shape))
        patches, there = window.patches(window.pad(x)), window.patches(inside)
        for ins, outs in shapes.groups():
            read = patches[..., None, :, :, ins] * w[outs]
            expected = np.where(there[..., None, :, :, ins] > 0, read, 0).sum((4, 5, 6))
            np.testing.assert_allclose(found[..., outs], expected, 1e-9, 1e-9)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_weights_that_are_no_numbers_do_not_meet_zeros_between_inputs():
    rng = np.random.default_rng(2)
    for _ in range(40):
        (h, w, c_in, c_out), (kh, kw), (sh, sw) = (rng.integers(1, 4, n) for n in (4, 2, 2))
        kernel = rng.standard_normal((c_out, kh, kw, c_in)).astype(np.float32)
        kernel.reshape(-1)[rng.integers(kernel.size, size=2)] = np.inf, np.nan
        x = rng.standard_normal((1, h, w, c_in)).astype(np.float32)
        expected = np.zeros((1, (h - 1) * sh + kh, (w - 1) * sw + kw, c_out), np.float32)
        for i, j in np.ndindex(h, w):
            rows, columns = slice(i * sh, i * sh + kh), slice(j * sw, j * sw + kw)
            expected[0, rows, columns] += np.einsum("okli,i->klo", kernel, x[0, i, j])
        size = int(expected.shape[1]), int(expected.shape[2])
        attrs = TransposeConvAttrs(size, (int(sh), int(sw)), "VALID")
        np.testing.assert_allclose(transpose_conv.ref_f32(attrs, x, kernel), expected, 1e-4, 1e-4)
