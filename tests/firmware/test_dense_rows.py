"""Dense layers of one row on a Cortex-M4: the loop is entered at each of its places."""

from itertools import product

import pytest

from tests.c.conformance import graph_of
from tests.c.packed_cases import relu_outputs
from tests.firmware.device import check_on_device
from tests.ops.build import Case, build_s8
from tests.sampling import sampled
from tinyrt.ops.fully_connected import FullyConnectedAttrs

LOOP_TAPS = 16
"""Taps of a turn of the loop."""

BUILDS = {"signed": build_s8, "relu": relu_outputs}
WAYS = ["", "-fno-omit-frame-pointer -ffixed-r9", "-DTINYRT_FAST"]
"""With sums in registers, with some in memory, and with turns twice as long."""


def row(taps, c_out):
    """A layer that is not drawn."""
    shapes = ((1, taps), (c_out, taps), (c_out,))
    case = Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))
    return lambda _: case


@pytest.mark.whole
@pytest.mark.parametrize(
    ("build", "way"),
    sampled([("relu", WAYS[1])], [*product(BUILDS, WAYS)]),
)
def test_rows_are_exact_wherever_their_loop_begins(tmp_path, build, way):
    """Both below one turn of the longer loop and above, with channels before whole blocks' end."""
    every = [(taps, 1 + taps // 4) for taps in range(4, (4 * LOOP_TAPS) + 4, 4)]
    cases = {f"row_{taps}": row(taps, c_out) for taps, c_out in every}
    graph, feeds = graph_of(cases, range(1), BUILDS[build])
    check_on_device(graph, feeds, tmp_path, "cortex-m4", way)
