"""Rows of weights that are bytes on emulated cores, in every way that compilers make the loop."""

import pytest

from tests.c.conformance import graph_of
from tests.c.fours import extremes
from tests.firmware.device import check_on_device
from tests.firmware.test_fours import check_way, combined
from tests.firmware.test_slices_ops import smallest
from tests.ops.build import Case, build_s8
from tests.ops.cases.windowed import activation
from tests.sampling import sampled
from tinyrt.export import slices
from tinyrt.ops.fully_connected import FullyConnectedAttrs

pytestmark = pytest.mark.slow

CORES = ("cortex-m0", "cortex-m3", "rv32imc")
BUILDS = {"random": build_s8, "extremes": extremes}
ALL = combined(CORES, BUILDS)
SAMPLE = [
    ("cortex-m0", "-ffixed-r9", "extremes"),
]


def rows(rng):
    """Layers of one row, of taps and channels that are no multiple of anything."""
    c_in, c_out = int(rng.integers(1, 140)), 8 * int(rng.integers(1, 4)) - int(rng.integers(4))
    attrs = FullyConnectedAttrs(activation=activation(rng))
    return Case("fully_connected", attrs, ((1, c_in), (c_out, c_in), (c_out,)), frozenset({1, 2}))


def layers(build):
    return graph_of({"rows": rows}, range(sampled(8, 60)), BUILDS[build])


@pytest.mark.whole
@pytest.mark.parametrize(("core", "way", "build"), sampled(SAMPLE, ALL))
def test_rows_of_bytes_are_exact_on_the_device(tmp_path, core, way, build):
    graph, feeds = layers(build)
    check_way(graph, feeds, tmp_path, core, way)


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_rows_in_parts_are_exact_on_the_device(tmp_path, monkeypatch, core):
    monkeypatch.setattr(slices, "divided", smallest)
    graph, feeds = layers("random")
    check_on_device(graph, feeds, tmp_path, core, slices=1000)
