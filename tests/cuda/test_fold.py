"""Requantisation in one step gives for every accumulator what the two steps give."""

import numpy as np
import pytest

from tests.ops.build import build_s8
from tests.ops.cases import CASES
from tinyrt.backends.cuda.fold import fold, fold_pair
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.spec import qparams

VALUES = np.arange(-128, 128)


def answers_of(folded, acc):
    """As the device computes them, in exact integers."""
    return (acc * folded.mult.astype(np.int64) + folded.offset) >> 32 >> folded.right


@pytest.mark.parametrize(("y_zp", "folds"), [(-128, 12), (127, 12), (5, 0)])
def test_every_accumulator_gives_the_same(y_zp, folds):
    """Between both signs of an output the two steps have a bend: that is rarely folded."""
    found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        channels, reach = 12, 1 << int(rng.integers(8, 17))
        mult = rng.integers(1 << 30, 1 << 31, channels).astype(np.int32)
        shift = rng.integers(-11, 0, channels).astype(np.int32)
        requant = Requant(mult, shift, y_zp, -128, 127 - seed % 2 * 30, DType.INT8)
        bias = rng.integers(-reach, reach, channels)
        least, most = -rng.integers(1, reach, channels), rng.integers(1, reach, channels)
        folded = fold(requant, bias, least, most)
        if folded is None:
            continue
        found += 1
        acc = np.arange(-reach, reach)[:, None]
        expected = requant.apply(acc + bias)
        answers = np.clip(answers_of(folded, acc), requant.act_min, requant.act_max)
        inside = (acc >= least) & (acc <= most)
        np.testing.assert_array_equal(answers[inside], expected[inside])
    assert found >= folds, found


def test_most_layers_behind_a_relu_are_folded():
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(40):
        mult = rng.integers(1 << 30, 1 << 31, 16).astype(np.int32)
        requant = Requant(mult, np.full(16, -9, np.int32), -128, -128, 127, DType.INT8)
        reach = np.full(16, 500_000)
        found += fold(requant, rng.integers(-9000, 9000, 16), -reach, reach) is not None
    assert found >= 36


def test_dead_channels_are_constants():
    mult, shift = np.array([0, 1 << 30, 1 << 30], np.int32), np.array([-31, -27, -8], np.int32)
    requant = Requant(mult, shift, -128, -128, 127, DType.INT8)
    bias = np.array([1 << 30, 1 << 30, 100])
    folded = fold(requant, bias, np.full(3, -1000), np.full(3, 1000))
    assert folded.mult[:2].tolist() == [0, 0]
    acc = np.arange(-1000, 1001)[:, None]
    np.testing.assert_array_equal(
        np.clip(answers_of(folded, acc), -128, 127), requant.apply(acc + bias)
    )


@pytest.mark.parametrize("op", ["add", "sub"])
def test_sums_of_all_pairs_are_the_same(op):
    folds = 0
    for seed in range(30):
        graph = build_s8(CASES[op](np.random.default_rng(seed)), np.random.default_rng(seed)).graph
        (node,) = graph.bound()
        p = OPS[op].form(node).prepare(node)
        expected = OPS[op].form(node).ref(p, *np.meshgrid(VALUES, VALUES, indexing="ij"))
        y_scale = qparams(node.output)[0]
        a, b = (float(qparams(node.input(i))[0] / y_scale) for i in range(2))
        pair = fold_pair(expected, (p.act_min, p.act_max), a, b if op == "add" else -b)
        if pair is None:
            continue
        folds += 1
        first = ((VALUES & 0xFF) ^ pair.a_flip)[:, None] * 256 * pair.a_mult
        second = ((VALUES & 0xFF) ^ pair.b_flip) * 256 * pair.b_mult
        offset = pair.offset - (pair.offset >> 63 << 64)
        found = np.clip((first + second + offset) >> 32, p.act_min, p.act_max)
        np.testing.assert_array_equal(found, expected)
    assert folds >= 20
