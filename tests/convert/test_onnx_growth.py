"""A model twice as large costs about twice as much to import and to optimise.

What is counted is the budget's work: rules that are asked, and nodes that are gone through after
each change. It does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.convert.hostile_onnx import Body, loop_body
from tests.convert.onnx_build import OnnxModel
from tests.sampling import sampled
from tinyrt.api import open_model
from tinyrt.budget import limited

Build = Callable[[OnnxModel, int], str]

MOST = 2.6
"""How much more twice as large a model may cost: chains halve in rounds, of which there is one
more."""


def chain(m: OnnxModel, n: int) -> str:
    """Sums and clamps that fuse, all with the same constant."""
    x, c = m.input(1, 8), m.const(np.ones(8))
    for _ in range(n):
        x = m.op("Relu", m.op("Add", x, c))
    return x


def products(m: OnnxModel, n: int) -> str:
    """Products with the same constant, which merge into one."""
    x, c = m.input(1, 8), m.const([0.999])
    for _ in range(n):
        x = m.op("Mul", x, c)
    return m.op("Sigmoid", x)


def fan(m: OnnxModel, n: int) -> str:
    """One value with many readers."""
    x = m.op("Sigmoid", m.input(1, 8))
    y = x
    for i in range(n):
        y = m.op("Add", y, m.op("Mul", x, m.const([i + 2.0])))
    return y


def images(m: OnnxModel, n: int) -> str:
    """Convolutions, whose transposes meet in as many regions."""
    x = m.input(1, 4, 4, 4)
    for _ in range(n // 4):
        x = m.op("Relu", m.op("Conv", x, m.weights(4, 4, 1, 1)))
    return x


def layer(m: OnnxModel, n: int) -> str:
    """A recurrent layer that is unrolled."""
    x = m.input(n // 8, 1, 3)
    y = m.op("GRU", x, m.weights(1, 6, 3), m.weights(1, 6, 2), hidden_size=2)
    return m.op("Reshape", y, m.ints(n // 8, 2))


def cells(m: OnnxModel, n: int) -> str:
    """A recurrent layer over images: all its transposes lead into one region."""
    w = m.weights(2, 2, 1, 1)
    h = x = m.input(1, 2, 4, 4)
    for _ in range(n // 4):
        h = m.op("Add", m.op("Conv", h, w), m.op("Conv", m.op("Tanh", h), w))
        h = m.op("Mul", h, x)
    return h


def turns(m: OnnxModel, n: int) -> str:
    """A loop that is unrolled; every op of its body wishes for the same name."""

    def build(b: Body) -> list[str]:
        return [b.node("Sigmoid", "s0")]

    trips, go = m.const(n, np.int64), m.const(True, np.bool_)
    return m.op("Loop", trips, go, m.input(1, 8), body=loop_body(build, state=1))


def work(build: Build, n: int, tmp_path) -> int:
    m = OnnxModel(17)
    path = m.save(tmp_path, build(m, n))
    with limited(memory=1 << 30, work=10**12) as budget:
        open_model(path)
    return budget.work_used


@pytest.mark.slow
@pytest.mark.parametrize("build", [chain, products, fan, images, layer, cells, turns])
def test_work_grows_with_the_size(build, tmp_path):
    once, twice = (work(build, n, tmp_path) for n in sampled((48, 96), (96, 192)))
    assert twice < MOST * once


@pytest.mark.whole
def test_a_recurrent_layer_of_2000_ops_costs_no_more_per_op(tmp_path):
    few, many = (work(layer, n, tmp_path) for n in (96, 960))
    assert many < 11 * few


def test_names_are_found_without_trying_those_before(tmp_path):
    """As many look-ups as names: the builder remembers where it was."""
    from tinyrt.convert.onnx.call import Builder
    from tinyrt.ir import DType, Value

    class Counting(dict):
        asked = 0

        def __contains__(self, name):
            Counting.asked += 1
            return super().__contains__(name)

    builder = Builder(values=Counting())
    for _ in range(1000):
        builder.add_value(Value(builder.unique_name("wish"), DType.FLOAT32, (1,)))
    assert Counting.asked < 3000
    assert "wish_999" in builder.values
