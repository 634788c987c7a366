"""Random cases of ops with one input that work element by element."""

from __future__ import annotations

from functools import partial

from tests.ops.build import Case, Rng
from tests.ops.cases.elementwise import shape_of, unary
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.spec import NoAttrs

abs_ = partial(unary, "abs", NoAttrs())
ceil = partial(unary, "ceil", NoAttrs())
cos = partial(unary, "cos", NoAttrs())
elu = partial(unary, "elu", NoAttrs())
erf = partial(unary, "erf", NoAttrs())
exp = partial(unary, "exp", NoAttrs())
fake_quantize = partial(unary, "fake_quantize", FakeQuantizeAttrs(1 / 64, -3))
floor = partial(unary, "floor", NoAttrs())
hard_swish = partial(unary, "hard_swish", NoAttrs())
log = partial(unary, "log", NoAttrs())
neg = partial(unary, "neg", NoAttrs())
relu_0_to_1 = partial(unary, "relu_0_to_1", NoAttrs())
round_ = partial(unary, "round", NoAttrs())
rsqrt = partial(unary, "rsqrt", NoAttrs())
sign = partial(unary, "sign", NoAttrs())
sin = partial(unary, "sin", NoAttrs())
sqrt = partial(unary, "sqrt", NoAttrs())
square = partial(unary, "square", NoAttrs())


def gelu(rng: Rng) -> Case:
    """Both forms."""
    return Case("gelu", GeluAttrs(bool(rng.random() < 0.5)), (shape_of(rng),))


def leaky_relu(rng: Rng) -> Case:
    """Slopes that float32 holds exactly."""
    return Case(
        "leaky_relu", LeakyReluAttrs(float(rng.choice([0.0, 0.125, 0.25, 1.5]))), (shape_of(rng),)
    )
