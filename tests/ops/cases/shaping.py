"""Random cases of ops that move, join or reduce."""

from __future__ import annotations

from tests.ops.build import Case, Rng
from tests.ops.cases.windowed import ints
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.transpose import TransposeAttrs


def concatenation(rng: Rng) -> Case:
    """One to five inputs, axes from either end."""
    shape = ints(rng, 1, 4, int(rng.integers(1, 5)))
    axis = int(rng.integers(-len(shape), len(shape)))
    sizes = ints(rng, 1, 5, int(rng.integers(1, 6)))
    at = axis % len(shape)
    shapes = tuple((*shape[:at], n, *shape[at + 1 :]) for n in sizes)
    return Case("concatenation", ConcatenationAttrs(axis), shapes)


def mean(rng: Rng) -> Case:
    """One or two axes: TFLM reduces no more."""
    shape = ints(rng, 1, 9, int(rng.integers(2, 5)))
    count = int(rng.integers(1, 3))
    axes = rng.choice(len(shape), size=count, replace=False)
    signed = tuple(int(a) - (len(shape) if rng.random() < 0.3 else 0) for a in axes)
    return Case("mean", MeanAttrs(signed, keep_dims=bool(rng.random() < 0.5)), (shape,))


def pad(rng: Rng) -> Case:
    """Borders from 0 to 3 wide."""
    shape = ints(rng, 1, 5, int(rng.integers(1, 5)))
    paddings = tuple((int(rng.integers(0, 4)), int(rng.integers(0, 4))) for _ in shape)
    return Case("pad", PadAttrs(paddings), (shape,))


def reshape(rng: Rng) -> Case:
    """All dimensions given, or one left open."""
    shape = ints(rng, 1, 4, int(rng.integers(1, 5)))
    wanted = list(rng.permutation([*shape, 1]))
    if rng.random() < 0.5:
        wanted[int(rng.integers(len(wanted)))] = -1
    return Case("reshape", ReshapeAttrs(tuple(int(d) for d in wanted)), (shape,))


def transpose(rng: Rng) -> Case:
    """Any permutation of one to five dimensions."""
    shape = ints(rng, 1, 5, int(rng.integers(1, 6)))
    perm = tuple(int(i) for i in rng.permutation(len(shape)))
    return Case("transpose", TransposeAttrs(perm), (shape,))
