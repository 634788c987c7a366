"""Every op that PyTorch has, beside it: values, first and second derivatives (extra ``torch``)."""

from functools import partial

import numpy as np
import pytest

from tests.ops.build import differentiable_ops, real_inputs
from tests.ops.cases import CASES, PLAIN, rng_of
from tests.train.build import tensor_of
from tinyrt.ops import OPS
from tinyrt.train import Tensor, apply
from tinyrt.train.core.autograd import partial_derivatives

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tinyrt[torch]'")
F = torch.nn.functional
torch.set_num_threads(1)  # tensors this small only wait for each other on more

CASES_PER_OP = 3


def clamp(activation, y):
    bounds = {"NONE": (None, None), "RELU": (0, None), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}
    low, high = bounds[activation]
    return y if low is None else torch.clamp(y, low, high)


def windowed(attrs, x, kernel, fill=0.0):
    """NCHW, padded as TFLite's SAME or VALID has it."""
    x = x.permute(0, 3, 1, 2)
    if attrs.padding == "VALID":
        return x
    dilation = getattr(attrs, "dilation", (1, 1))
    sides = []
    for axis in (1, 0):  # torch pads the last dimension first
        size, step = x.shape[2 + axis], attrs.stride[axis]
        reach = (kernel[axis] - 1) * dilation[axis] + 1
        total = max(0, (-(-size // step) - 1) * step + reach - size)
        sides += [total // 2, total - total // 2]
    return F.pad(x, sides, value=fill)


def conv2d(a, x, w, b=None):
    groups = x.shape[3] // w.shape[3]
    kernel = w.permute(0, 3, 1, 2)
    y = F.conv2d(windowed(a, x, w.shape[1:3]), kernel, b, a.stride, 0, a.dilation, groups)
    return clamp(a.activation, y.permute(0, 2, 3, 1))


def depthwise(a, x, w, b=None):
    kernel = w.permute(3, 0, 1, 2)
    y = F.conv2d(windowed(a, x, w.shape[1:3]), kernel, b, a.stride, 0, a.dilation, x.shape[3])
    return clamp(a.activation, y.permute(0, 2, 3, 1))


def dense(a, x, w, b=None):
    rows = x if a.keep_num_dims else x.reshape(-1, w.shape[1])
    return clamp(a.activation, F.linear(rows, w, b))


def max_pool(a, x):
    low = float("-inf")
    y = F.max_pool2d(windowed(a, x, a.kernel, low), a.kernel, a.stride)
    return clamp(a.activation, y.permute(0, 2, 3, 1))


def average_pool(a, x):
    def summed(t):
        return F.avg_pool2d(windowed(a, t, a.kernel), a.kernel, a.stride)

    y = summed(x) / summed(torch.ones_like(x))  # only what lies inside counts
    return clamp(a.activation, y.permute(0, 2, 3, 1))


def batch_norm(a, x, gamma, beta, mean, variance):
    return (x - mean) / torch.sqrt(variance + a.epsilon) * gamma + beta


def matmul(a, x, y):
    x = x.transpose(-1, -2) if a.adj_x else x
    return x @ (y.transpose(-1, -2) if a.adj_y else y)


def padded(a, x):
    return F.pad(x, [s for pair in reversed(a.paddings) for s in pair], value=a.value)


def axes(a, x):
    return tuple(i % x.ndim for i in a.axes)


def cumsum(a, x):
    x = x.flip(a.axis) if a.reverse else x
    y = x.cumsum(a.axis) - (x if a.exclusive else 0)
    return y.flip(a.axis) if a.reverse else y


def depth_to_space(a, x):
    n, h, w, c = x.shape
    parts = x.reshape(n, h, w, a.block**2, c // a.block**2)  # PyTorch has the block innermost
    y = F.pixel_shuffle(parts.permute(0, 4, 3, 1, 2).reshape(n, c, h, w), a.block)
    return y.permute(0, 2, 3, 1)


def space_to_depth(a, x):
    y = F.pixel_unshuffle(x.permute(0, 3, 1, 2), a.block)
    n, c, h, w = y.shape
    parts = y.reshape(n, c // a.block**2, a.block**2, h, w)
    return parts.permute(0, 3, 4, 2, 1).reshape(n, h, w, c)


def picked(x, *indices):
    """The elements at these places of each dimension."""
    for axis, index in enumerate(indices):
        x = x.index_select(axis, torch.tensor(np.ascontiguousarray(index)))
    return x


def mirrored(a, x):
    places = zip(x.shape, a.paddings, strict=True)
    return picked(x, *(np.pad(np.arange(d), pair, mode=a.mode.lower()) for d, pair in places))


def sliced(a, x):
    parts = zip(a.begin, a.size, a.strides, strict=True)
    return picked(x, *(b + s * np.arange(n) for b, n, s in parts)).reshape(a.shape)


def embedded(a, table, places):
    """Rows of the one table that all samples share, or of each sample's own."""
    batch, rest = a.batch_dims, table.shape[a.batch_dims + 1 :]
    tables = table.reshape(-1, *table.shape[batch:])
    own = places.long().reshape(tables.shape[0], -1) % tables.shape[1]
    rows = [t.index_select(0, i) for t, i in zip(tables, own, strict=True)]
    return torch.stack(rows).reshape(*places.shape, *rest)


def sliced_at(a, x, begin):
    for axis, (first, size) in enumerate(zip(begin.tolist(), a.size, strict=True)):
        x = x.narrow(axis, first, size)
    return x


def product(a, x):
    for axis in sorted(axes(a, x), reverse=True):
        x = x.prod(axis, a.keep_dims)
    return x


def resized(a, x, mode, **options):
    x = x.permute(0, 3, 1, 2)
    return F.interpolate(x, a.size, mode=mode, **options).permute(0, 2, 3, 1)


def bilinear(a, x):
    return resized(a, x, "bilinear", align_corners=a.align_corners)


def nearest(a, x):
    return resized(a, x, "nearest-exact" if a.half_pixel_centers else "nearest")


def transpose_conv(a, x, w, b=None):
    y = F.conv_transpose2d(x.permute(0, 3, 1, 2), w.permute(3, 0, 1, 2), None, a.stride)
    for axis, size, step, d in zip((2, 3), a.size, a.stride, x.shape[1:3], strict=True):
        kernel = w.shape[axis - 1]
        outputs = -(-size // step) if a.padding == "SAME" else -(-(size - kernel + 1) // step)
        before = max(0, (outputs - 1) * step + kernel - size) // 2
        assert outputs == d
        beyond = max(0, before + size - y.shape[axis])
        y = F.pad(y, [0, 0, 0, beyond] if axis == 2 else [0, beyond]).narrow(axis, before, size)
    y = y.permute(0, 2, 3, 1)
    return clamp(a.activation, y if b is None else y + b)


def _of_name(op, attrs, x):
    del attrs
    return getattr(torch, op)(x)


def lstm(a, x, *operands):
    """PyTorch's gates: input, forget, cell, output, as TFLite has them."""
    w, r, b = (torch.cat(operands[at : at + 4]) for at in (0, 4, 8))
    weights, states = [w, r, b, torch.zeros_like(b)], [s[None] for s in operands[12:]]
    first = not a.time_major
    return torch.lstm(x, states, weights, True, 1, 0.0, False, False, first)[0]


TWINS = {
    # What PyTorch has by the same name.
    **{op: partial(_of_name, op) for op in PLAIN if OPS[op].vjp and hasattr(torch, op)},
    "add": lambda a, x, y: clamp(a.activation, x + y),
    "average_pool2d": average_pool,
    "batch_matmul": matmul,
    "batch_norm": batch_norm,
    "concatenation": lambda a, *xs: torch.cat(xs, a.axis),
    "conv2d": conv2d,
    "broadcast_to": lambda a, x: x.expand(a.shape),
    "cumsum": cumsum,
    "depth_to_space": depth_to_space,
    "depthwise_conv2d": depthwise,
    "div": lambda a, x, y: clamp(a.activation, x / y),
    "elu": lambda a, x: F.elu(x),
    "fully_connected": dense,
    "gather": lambda a, x: x.index_select(a.axis % x.ndim, torch.tensor(a.indices)).reshape(
        *x.shape[: a.axis % x.ndim], *a.shape, *x.shape[a.axis % x.ndim + 1 :]
    ),
    "embedding": embedded,
    "gather_nd": lambda a, x, places: x[tuple(places.long().unbind(-1))],
    "gelu": lambda a, x: F.gelu(x, approximate="tanh" if a.approximate else "none"),
    "l2_normalization": lambda a, x: F.normalize(x, dim=-1),
    "hard_swish": lambda a, x: F.hardswish(x),
    "leaky_relu": lambda a, x: F.leaky_relu(x, a.alpha),
    "log_softmax": lambda a, x: F.log_softmax(x, -1),
    "logistic": lambda a, x: x.sigmoid(),
    "max_pool2d": max_pool,
    "maximum": lambda a, x, y: torch.maximum(x, y),
    "mean": lambda a, x: x.mean(axes(a, x), a.keep_dims),
    "minimum": lambda a, x, y: torch.minimum(x, y),
    "mirror_pad": mirrored,
    "mul": lambda a, x, y: clamp(a.activation, x * y),
    "pad": padded,
    "pow": lambda a, x, y: x**y,
    "floor_div": lambda a, x, y: torch.floor(x / y),
    "floor_mod": lambda a, x, y: torch.remainder(x, y),
    "prelu": lambda a, x, slope: torch.where(x >= 0, x, x * slope),
    "reduce_max": lambda a, x: x.amax(axes(a, x), a.keep_dims),
    "reduce_min": lambda a, x: x.amin(axes(a, x), a.keep_dims),
    "reduce_prod": product,
    "resize_bilinear": bilinear,
    "resize_nearest_neighbor": nearest,
    "slice": sliced,
    "slice_at": sliced_at,
    "space_to_depth": space_to_depth,
    "tile": lambda a, x: x.repeat(a.multiples),
    "transpose_conv": transpose_conv,
    "relu_0_to_1": lambda a, x: x.clamp(0, 1),
    "relu_n1_to_1": lambda a, x: x.clamp(-1, 1),
    "relu6": lambda a, x: F.relu6(x),
    "reshape": lambda a, x: x.reshape(a.new_shape),
    "select_v2": lambda a, condition, x, y: torch.where(condition, x, y),
    "softmax": lambda a, x: F.softmax(a.beta * x, -1),
    "squared_difference": lambda a, x, y: (x - y) ** 2,
    "sub": lambda a, x, y: clamp(a.activation, x - y),
    "sum": lambda a, x: x.sum(axes(a, x), a.keep_dims),
    "transpose": lambda a, x: x.permute(a.perm),
    "unidirectional_sequence_lstm": lstm,
}


ABSENT = {
    "unidirectional_sequence_lstm": lambda a: a.cell_clip > 0,
    "resize_bilinear": lambda a: not (a.half_pixel_centers or a.align_corners),
    "resize_nearest_neighbor": lambda a: a.align_corners,
}
"""Forms of ops that PyTorch does not have."""


def case_of(op, seed):
    """A random case of a form that PyTorch has, and the generator that drew it."""
    while True:
        rng = rng_of(op, seed)
        case = CASES[op](rng)
        if op not in ABSENT or not ABSENT[op](case.attrs):
            return case, rng
        seed += CASES_PER_OP


def test_every_differentiable_op_has_a_twin():
    assert set(differentiable_ops()) == set(TWINS)


def assert_close(ours, theirs):
    expected = theirs.detach().numpy(force=True)
    scale = max(1, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize("seed", range(CASES_PER_OP))
@pytest.mark.parametrize("op", sorted(TWINS))
def test_values_and_derivatives(op, seed):
    case, rng = case_of(op, seed)
    operands = [tensor_of(a.copy()) for a in real_inputs(case, rng)]
    inputs = [x for x in operands if x.requires_grad]
    arrays = [x.data for x in inputs]
    their_operands = [torch.tensor(x.data, requires_grad=x.requires_grad) for x in operands]
    twins = [t for t in their_operands if t.requires_grad]
    y, ty = apply(op, case.attrs, *operands), TWINS[op](case.attrs, *their_operands)
    assert_close(y.data, ty)
    u = rng.normal(size=y.shape)
    weights = [rng.normal(size=a.shape) for a in arrays]
    ours = partial_derivatives(y, inputs, Tensor(u, requires_grad=True), create_graph=True)
    theirs = torch.autograd.grad(ty, twins, torch.tensor(u), create_graph=True, allow_unused=True)
    for a, b in zip(ours, theirs, strict=True):
        assert_close(np.zeros(1) if a is None else a.data, torch.zeros(1) if b is None else b)
    along = sum((g * w).sum() for g, w in zip(ours, weights, strict=True) if g is not None)
    pairs = zip(theirs, weights, strict=True)
    their_along = sum((g * torch.tensor(w)).sum() for g, w in pairs if g is not None)
    if not their_along.requires_grad or not along.requires_grad:
        return  # linear: no second derivative
    second = partial_derivatives(along, inputs)
    their_second = torch.autograd.grad(their_along, twins, allow_unused=True)
    for a, b, x in zip(second, their_second, inputs, strict=True):
        nothing = np.zeros(x.shape)
        assert_close(nothing if a is None else a.data, torch.tensor(nothing) if b is None else b)


KINKS = [
    *("abs", "elu", "leaky_relu", "hard_swish", "maximum", "minimum", "prelu", "reduce_max"),
    *("reduce_min", "relu", "relu6"),
]
"""Ops whose derivatives jump where numbers are equal, or at whole ones: tests/ops/test_kinks.py,
too, for which PyTorch is not needed."""


@pytest.mark.parametrize("op", KINKS)
def test_derivatives_where_numbers_are_equal(op):
    """Of whole numbers, most of which occur again: at every kink, and with every tie."""
    for seed in range(4):
        case, rng = case_of(op, seed)
        arrays = [rng.integers(-4, 8, a.shape).astype(a.dtype) for a in real_inputs(case, rng)]
        inputs = [tensor_of(a) for a in arrays]
        twins = [torch.tensor(a, requires_grad=True) for a in arrays]
        y, ty = apply(op, case.attrs, *inputs), TWINS[op](case.attrs, *twins)
        u = rng.normal(size=y.shape)
        ours = partial_derivatives(y, inputs, Tensor(u))
        for a, b in zip(ours, torch.autograd.grad(ty, twins, torch.tensor(u)), strict=True):
            assert_close(a.data, b)
