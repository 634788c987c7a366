"""Random cases of ops with one input that work element by element."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.ops.build import Case, Rng
from tests.ops.cases.elementwise import shape_of, unary
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pointwise import PointwiseAttrs, Step

fake_quantize = partial(unary, "fake_quantize", FakeQuantizeAttrs(1 / 64, -3))


def gelu(rng: Rng) -> Case:
    """Both forms."""
    return Case("gelu", GeluAttrs(bool(rng.random() < 0.5)), (shape_of(rng),))


def leaky_relu(rng: Rng) -> Case:
    """Slopes that float32 holds exactly."""
    return Case(
        "leaky_relu",
        LeakyReluAttrs(float(rng.choice([0.0, 0.125, 0.25, 1.5, -0.25]))),
        (shape_of(rng),),
    )


ANYWHERE = ("abs", "ceil", "cos", "elu", "floor", "hard_swish", "logistic", "neg", "relu", "relu6")
ANYWHERE = (*ANYWHERE, "relu_0_to_1", "relu_n1_to_1", "round", "sign", "sin", "square", "tanh")
"""Ops of one input that are finite wherever it is."""

BOTH = ("add", "maximum", "minimum", "mul", "squared_difference", "sub")
COMPARISONS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")


class Chain:
    """Steps that grow from the input, finite on the whole range of int8."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.steps: list[Step] = []

    def add(self, op: str, *operands: float, attrs: Any = None) -> int:
        record = OPS[op].attrs() if attrs is None else attrs
        self.steps.append(Step(op, record, operands))
        return len(self.steps)

    def number(self) -> float:
        return float(np.float32(self.rng.normal()))

    def positive(self, x: int) -> int:
        return self.add("add", self.add("abs", x), 0.5, attrs=AddAttrs())

    def grow(self, x: int) -> int:
        """One more formula of x, and perhaps of the input."""
        rng, other = self.rng, 0 if self.rng.random() < 0.5 else self.number()
        match int(rng.integers(8)):
            case 0:
                root = str(rng.choice(["log", "rsqrt", "sqrt"]))
                return self.add(root, self.positive(x))
            case 1:
                return self.add("div", x, self.positive(0), attrs=DivAttrs())
            case 2:
                return self.add("pow", self.positive(self.add("tanh", x)), self.number())
            case 3:
                is_less = self.add(str(rng.choice(COMPARISONS)), x, other)
                is_not = self.add("logical_not", is_less)
                either = self.add("logical_or", is_not, self.add("greater", x, 0.5))
                return self.add("select_v2", self.add("logical_and", is_less, either), x, 1.5)
            case 4:
                cut = self.add("cast", x, attrs=CastAttrs(DType.INT32))
                return self.add("cast", cut, attrs=CastAttrs())
            case 5:
                curved = self.add("prelu", x, 0.25)
                return self.add("gelu", self.add("leaky_relu", curved, attrs=LeakyReluAttrs(0.5)))
            case 6:
                op = str(rng.choice(BOTH))
                attrs = MulAttrs("RELU6") if op == "mul" and rng.random() < 0.5 else None
                return self.add(op, x, other, attrs=attrs)
            case _:
                return self.add(str(rng.choice(ANYWHERE)), x)


def pointwise(rng: Rng) -> Case:
    """One to four formulas, one behind the other."""
    chain, x = Chain(rng), 0
    for _ in range(int(rng.integers(1, 5))):
        x = chain.grow(x)
    if rng.random() < 0.2:
        chain.add("exp", chain.add("minimum", x, 3.0))
    return Case("pointwise", PointwiseAttrs(tuple(chain.steps)), (shape_of(rng),))
