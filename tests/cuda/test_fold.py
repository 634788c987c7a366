"""Requantisation in one step gives for every accumulator what the two steps give."""

import numpy as np
import pytest

from tests.ops.build import build_s8
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.backends.cuda.fold import fold, fold_pair
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.spec import qparams

VALUES = np.arange(-128, 128)
SEEDS = sampled(4, 12)


def answers_of(folded, acc):
    """As the device computes them, in exact integers."""
    return (acc * folded.mult.astype(np.int64) + folded.offset) >> 32 >> folded.right


@pytest.mark.parametrize(("y_zp", "folds"), [(-128, SEEDS), (127, SEEDS), (5, 0)])
def test_every_accumulator_gives_the_same(y_zp, folds):
    """Between both signs of an output the two steps have a bend: that is rarely folded."""
    found = 0
    for seed in range(SEEDS):
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


def requant_of(mult=1 << 30, shift=-10, limits=(-128, 127), channels=1):
    mults, shifts = np.full(channels, mult, np.int32), np.full(channels, shift, np.int32)
    return Requant(mults, shifts, -128, *limits, DType.INT8)


HALF, WHOLE = 1 << 30, 1 << 31


@pytest.mark.parametrize(
    ("bias", "least", "most", "folds"),
    [
        (0, 1 - WHOLE, 100, True),
        (0, -WHOLE, 100, False),
        (0, -100, WHOLE - 1, True),
        (0, -100, WHOLE, False),
        (-HALF, 1 - HALF, 100, True),
        (-HALF, -HALF, 100, False),
        (HALF, -100, HALF - 1, True),
        (HALF, -100, HALF, False),
        (HALF, 1 - WHOLE, 0, True),
        (-HALF, 0, WHOLE - 1, True),
    ],
)
def test_accumulators_beyond_32_bits_are_not_folded(bias, least, most, folds):
    found = fold(requant_of(), *(np.array([n]) for n in (bias, least, most)))
    assert (found is not None) is folds
    ends = [np.array([5, n]) for n in (bias, least, most)]
    ends[1][0], ends[2][0] = -9, 9
    assert (fold(requant_of(channels=2), *ends) is not None) is folds


@pytest.mark.parametrize(
    ("requant", "folds"),
    [
        (requant_of(), True),
        (requant_of(limits=(5, 6)), True),
        (requant_of(limits=(5, 5)), False),
        (requant_of(mult=1), True),
        (requant_of(mult=-(1 << 30)), False),
        (requant_of(shift=0), True),
        (requant_of(shift=1), False),
        (requant_of(shift=-22), True),
        (requant_of(shift=-23), False),
    ],
)
def test_what_is_folded_equals_the_two_steps_and_the_rest_is_left(requant, folds):
    reach = 1 << 30
    ends = np.array([3]), np.array([-reach]), np.array([reach])
    folded = fold(requant, *ends)
    assert (folded is not None) is folds
    if folded is not None:
        near = np.arange(-70_000, 70_000, 7)
        acc = np.concatenate([near, np.linspace(-reach, reach, 50_001).astype(np.int64)])[:, None]
        answers = np.clip(answers_of(folded, acc), requant.act_min, requant.act_max)
        np.testing.assert_array_equal(answers, requant.apply(acc + 3))


@pytest.mark.parametrize(("real", "folds"), [(254.0, True), (255.0, False), (-255.0, False)])
def test_operands_of_too_many_outputs_a_step_are_not_folded(real, folds):
    exact = np.clip(np.rint(VALUES * real), -128, 127).astype(np.int8)
    answers = np.broadcast_to(exact, (256, 256))
    assert (fold_pair(answers, (-128, 127), 0.0, real) is not None) is folds
    assert (fold_pair(answers.T, (-128, 127), real, 0.0) is not None) is folds


@pytest.mark.parametrize("op", ["add", "sub"])
def test_sums_of_all_pairs_are_the_same(op):
    folds = 0
    for seed in range(sampled(10, 30)):
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
    assert folds >= sampled(6, 20)
