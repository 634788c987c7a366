"""Random arithmetic on places and truth values: int32 where it fits, with the same answers."""

import numpy as np
import pytest

from tests.graphs import Builder
from tests.sampling import sampled
from tinyrt.convert.passes.known import KNOWN_PASSES, apply_known
from tinyrt.convert.passes.narrow import NARROW
from tinyrt.convert.values.width import ARITHMETIC
from tinyrt.ir import DType, Graph, RewriteLog
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.transpose import TransposeAttrs

SHAPE, STEPS = (3, 4), 14
WIDE, SHORT = CastAttrs(DType.INT64), CastAttrs(DType.INT32)
BINARY = {
    "add": AddAttrs(),
    "sub": AddAttrs(),
    "mul": MulAttrs(),
    **dict.fromkeys(("minimum", "maximum"), NoAttrs()),
}


class Integers:
    """A graph of tensors of one shape, in 64 bits but for some that are cast."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.b = Builder(SHAPE)
        truth = self.b.op("greater", ("x", self.b.constant(np.zeros(1, np.float32))))
        place = self.b.op("arg_max", ("x",), ArgAttrs(1, DType.INT64))
        place = self.b.op("reshape", (place,), ReshapeAttrs((3, 1)))
        zeros = self.b.constant(np.zeros(SHAPE, np.int64))
        self.truth = [truth]
        self.made = [
            self.b.op("cast", (truth,), WIDE),
            self.b.op("add", (place, zeros), AddAttrs()),
            self.b.op("cast", (self.b.op("cast", ("x",), SHORT),), WIDE),
        ]
        if self.rng.random() < 0.3:
            self.made.append(self.b.op("cast", ("x",), WIDE))

    def pick(self) -> str:
        return str(self.rng.choice(self.made))

    def number(self) -> str:
        size = 1 if self.rng.random() < 0.5 else SHAPE[1]
        most = int(self.rng.choice([3, 100, 2**20]))
        return self.b.constant(self.rng.integers(-most, most, size))

    def step(self) -> None:
        kind = self.rng.integers(10)
        if kind < 5:
            op = str(self.rng.choice(list(BINARY)))
            other = self.number() if self.rng.random() < 0.6 else self.pick()
            new = self.b.op(op, (self.pick(), other), BINARY[op])
        elif kind == 5:
            truth = self.b.op("less", (self.pick(), self.number()))
            self.truth.append(truth)
            new = self.b.op("cast", (truth,), WIDE)
        elif kind == 6:
            new = self.b.op(
                "select_v2", (str(self.rng.choice(self.truth)), self.pick(), self.number())
            )
        elif kind == 7:
            both = self.b.op("concatenation", (self.pick(), self.pick()), ConcatenationAttrs(0))
            rows = self.b.op("reshape", (both,), ReshapeAttrs((6, 4)))
            places = self.b.op("reshape", (rows,), ReshapeAttrs((2, *SHAPE)))
            turned = self.b.op("transpose", (places,), TransposeAttrs((0, 2, 1)))
            half = self.b.op("arg_max", (self.b.op("cast", (turned,), CastAttrs()),), ArgAttrs(0))
            new = self.b.op("cast", (self.b.op("reshape", (half,), ReshapeAttrs(SHAPE)),), WIDE)
        elif kind == 8:
            new = self.b.op("cast", (self.b.op("cast", (self.pick(),), SHORT),), WIDE)
        else:
            number = self.b.op("cast", (self.pick(),), CastAttrs())
            held = self.b.op("relu6", (number,))
            new = self.b.op("cast", (held,), WIDE)
        self.made.append(new)

    def graph(self) -> Graph:
        for _ in range(STEPS):
            self.step()
        last = {self.made[-1], *(self.pick() for _ in range(2))}
        return self.b.graph(*sorted(last), self.b.op("cast", (self.pick(),), CastAttrs()))


def wide_arithmetic(graph: Graph) -> set[str]:
    nodes = (n for n in graph.bound() if n.op in ARITHMETIC)
    return {n.name for n in nodes if n.output.dtype is DType.INT64}


@pytest.mark.parametrize("seed", range(sampled(12, 60)))
def test_the_answers_stay_and_what_stays_wide_has_a_reason(seed):
    graph, log = Integers(seed).graph(), RewriteLog()
    after = apply_known(graph, [NARROW], log)
    assert apply_known(after, [NARROW]) is after
    assert wide_arithmetic(after) == {n for _, n in log.final_refusals()}
    assert [v.dtype for v in after.output_values] == [v.dtype for v in graph.output_values]
    rng = np.random.default_rng(seed)
    everything = apply_known(graph, KNOWN_PASSES)
    for scale in (1, 1e3, 1e12):
        x = (rng.standard_normal(SHAPE) * scale).astype(np.float32)
        wanted = evaluate(graph, {"x": x})
        for each in (after, everything):
            for name, found in evaluate(each, {"x": x}).items():
                np.testing.assert_array_equal(found, wanted[name], strict=True)


def test_the_random_graphs_have_both_kinds():
    """Of the arithmetic in them, some stays in 64 bits, and most does not."""
    before = after = 0
    for seed in range(20):
        graph = Integers(seed).graph()
        before += len(wide_arithmetic(graph))
        after += len(wide_arithmetic(apply_known(graph, [NARROW])))
    assert 0 < after < before / 2


def narrowed(b: Builder, *outputs: str) -> list[str]:
    """The ops that are left and their dtypes; the answers are the same."""
    graph = b.graph(*outputs)
    after = apply_known(graph, [NARROW])
    x = (np.random.default_rng(0).standard_normal(SHAPE) * 1e12).astype(np.float32)
    wanted = evaluate(graph, {"x": x})
    for name, found in evaluate(after, {"x": x}).items():
        np.testing.assert_array_equal(found, wanted[name], strict=True)
    return [f"{n.op} {n.output.dtype.short}" for n in after.bound()]


def test_what_an_op_of_64_bits_gives_is_cast_for_those_of_32():
    b = Builder(SHAPE)
    number = b.op("cast", ("x",), WIDE)
    rest = b.op("floor_mod", (number, b.constant(np.array([7]))))
    y = b.op("add", (rest, rest), AddAttrs())
    ops = narrowed(b, b.op("cast", (y,), CastAttrs()), b.op("cast", (rest,), CastAttrs()))
    assert ops == ["cast s64", "floor_mod s64", "cast s32", "add s32", "cast f32", "cast f32"]


def test_casts_that_follow_each_other_are_one():
    b = Builder(SHAPE)
    wide = b.op("cast", (b.op("cast", ("x",), SHORT),), WIDE)
    moved = b.op("reshape", (wide,), ReshapeAttrs((4, 3)))
    assert narrowed(b, b.op("cast", (moved,), CastAttrs())) == [
        *("cast s32", "reshape s32", "cast f32")
    ]


def test_one_cast_behind_a_join_is_less_than_one_before_each_part():
    b = Builder(SHAPE)
    whole = b.op("cast", ("x",), SHORT)
    parts = [
        b.op("cast", (source,), WIDE) for source in (whole, b.op("add", (whole, whole), AddAttrs()))
    ]
    joined = b.op("concatenation", parts, ConcatenationAttrs(0))
    assert narrowed(b, joined) == ["cast s32", "add s32", "concatenation s32", "cast s64"]
    b = Builder(SHAPE)
    part = b.op("cast", (b.op("cast", ("x",), SHORT),), WIDE)
    assert narrowed(b, b.op("reshape", (part,), ReshapeAttrs((4, 3))))[-1] == "reshape s64"
