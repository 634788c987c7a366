"""What is live outside of a segment, at its ends, and for ops that run on whole tensors."""

import pytest

from tests.c.test_rows import NETS
from tests.graphs import Builder
from tests.memory.targets import SCALAR
from tinyrt.memory import plan_by_rows
from tinyrt.memory.plan import MemoryOptions
from tinyrt.memory.regions import NO_LIMIT
from tinyrt.memory.rows.candidates import Model
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs


def wide_and_narrow():
    """Tensors of 4, 400, 4, 200, 4 and 80 bytes, one behind the other."""
    b = Builder((1, 1))
    y = "x"
    for width in (100, 50, 20):
        y = b.op("concatenation", (y,) * width, ConcatenationAttrs(1))
        y = b.op("mean", (y,), MeanAttrs((1,), keep_dims=True)) if width > 20 else y
    return Model(b.graph(y), SCALAR, MemoryOptions())


@pytest.mark.parametrize(
    ("first", "stop", "live"),
    [(0, 5, 80), (0, 2, 204), (0, 4, 84), (0, 1, 404), (1, 5, 404), (2, 4, 404), (3, 5, 404)],
)
def test_what_is_live_outside_of_a_segment(first, stop, live):
    assert wide_and_narrow().live_outside(first, stop) == live


def test_readers_of_a_pushed_input_cannot_run_alone():
    model = wide_and_narrow()
    assert model.live_alone(None) == [404, 404, 204, 204, 84]
    assert model.live_alone("x") == [NO_LIMIT, 404, 204, 204, 84]


def test_what_is_live_between_ops():
    model = wide_and_narrow()
    assert model.live_across(None) == [4, 400, 4, 200, 4, 80]
    assert model.live_across("x") == [0, 400, 4, 200, 4, 80]


@pytest.mark.parametrize(("net", "seed"), NETS)
def test_at_the_fullest_moment_the_op_whose_working_memory_lives_runs(net, seed):
    moment = plan_by_rows(net(seed), SCALAR, enough=1).fullest()
    working = {name for name, _ in moment.sizes if name.startswith("scratch#")}
    assert working == {f"scratch#{moment.node}"}
