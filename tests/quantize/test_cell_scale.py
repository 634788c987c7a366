"""The scale of an LSTM's cell state."""

import numpy as np
import pytest

from tinyrt.ir import BoundNode, DType, Node, Value
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.recurrent import FINEST, OP, cell_params, cell_states

LARGEST = 2**15 - 1


@pytest.mark.parametrize(
    ("low", "high", "power"),
    [
        (-0.5, 3.0, -13),
        (-3.0, 0.5, -13),
        (-1.0, LARGEST / 2**14, -14),
        (-1.0, np.nextafter(LARGEST / 2**14, 9), -13),
        (0.0, 1e9, 0),
        (-1e-3, 1e-3, FINEST),
    ],
)
def test_the_finest_power_of_two_that_covers_both_ends(low, high, power):
    q = cell_params(Range(low, high))
    assert (q.scale, q.zero_point) == (2.0**power, 0)
    assert power in (0, FINEST) or LARGEST * q.scale >= max(-low, high) > LARGEST * q.scale / 2


def test_a_state_that_stays_zero_has_the_finest_scale():
    assert cell_params(Range(0.0, 0.0)).scale == 2.0**FINEST


def test_states_are_the_same_whichever_way_time_runs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 5, 3)).astype(np.float32)
    shapes = [(4, 3)] * 4 + [(4, 4)] * 4 + [(4,)] * 4 + [(2, 4)] * 2
    constants = [
        Value.constant(f"c{i}", rng.normal(size=shape).astype(np.float32))
        for i, shape in enumerate(shapes)
    ]
    states = []
    for given, time_major in ((x, False), (x.swapaxes(0, 1), True)):
        inputs = (Value("x", DType.FLOAT32, given.shape), *constants)
        lstm = Node(OP, "lstm", tuple(v.name for v in inputs), (), LstmAttrs(time_major=time_major))
        states.append(cell_states(BoundNode(0, lstm, inputs, ()), given))
    assert states[0].shape == (5, 2, 4)
    np.testing.assert_array_equal(*states)
