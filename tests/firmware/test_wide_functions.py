"""logistic and tanh of int16 in vectors: inputs all over the range, at scales of all kinds."""

import numpy as np
import pytest

from tests.firmware.device import check_on_device
from tests.sampling import sampled
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.shared.table_s16 import FIXED_OUTPUT

SCALES = (2.0**-15, 2.0**-12, 1e-3, 5.0 / 32768, 1.0, 2.5, 5.4, 11.0, 2e5)
"""Multipliers with a shift and without, some that take an input of 1 or 2 to the table's end."""
EVERY = 7
"""Inputs are so far apart, as boards have little memory, but for those next to 0 and the ends."""


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("op", ["logistic", "tanh"])
@pytest.mark.parametrize("first", sampled([0], range(EVERY)))
def test_inputs_are_exact(op, first, tmp_path):
    """Lengths are no whole vectors, but for some."""
    ends = [*range(-32768, -32759), *range(-9, 10), *range(32760, 32768)]
    x = np.array([*ends, *range(-32768 + first, 32768, EVERY)], np.int16)
    values, nodes = [], []
    for i, scale in enumerate(SCALES):
        values.append(Value(f"x{i}", DType.INT16, x.shape, QParams((float(np.float32(scale)),), 0)))
        values.append(Value(f"y{i}", DType.INT16, x.shape, QParams((FIXED_OUTPUT[0],), 0)))
        nodes.append(Node(op, f"y{i}", (f"x{i}",), (f"y{i}",), NoAttrs()))
    names = {kind: tuple(f"{kind}{i}" for i in range(len(SCALES))) for kind in "xy"}
    graph = Graph("functions", names["x"], names["y"], {v.name: v for v in values}, tuple(nodes))
    check_on_device(verify(graph), dict.fromkeys(names["x"], x), tmp_path, "cortex-m55")
