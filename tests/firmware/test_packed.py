"""The packed kernels on emulated cores, whose instructions the host's compiler does not have."""

import pytest

from tests.c import thresholds
from tests.c.conformance import graph_of
from tests.c.packed_cases import (
    INT4_CASES,
    PACKED_CASES,
    RELU_CASES,
    int4_weights,
    relu_outputs,
)
from tests.firmware.device import CORES_THAT_RUN, check_on_device
from tests.sampling import sampled
from tinyrt.backends.c.blocks import fours

SEEDS = (0, 1, 2, 4, 7, 10, 11)
"""Between them they reach every kernel that twelve in a row do."""


@pytest.fixture(autouse=True)
def two_pixels_at_a_time(monkeypatch):
    """Four of them have tests of their own, ``test_fours``."""
    monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)


@pytest.mark.parametrize("core", sampled(["cortex-m4"], CORES_THAT_RUN))
def test_packed_kernels_on_the_device(tmp_path, core):
    graph, feeds = graph_of(PACKED_CASES, SEEDS)
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4"])
def test_packed_kernels_made_for_size(tmp_path, core):
    """Loops that are not unrolled; on a Cortex-M0, none in assembly."""
    graph, feeds = graph_of(PACKED_CASES, range(4))
    check_on_device(graph, feeds, tmp_path, core, "-Os")


@pytest.mark.parametrize("core", sampled(["cortex-m0"], CORES_THAT_RUN))
def test_packed_int4_weights_on_the_device(tmp_path, core):
    graph, feeds = graph_of(INT4_CASES, SEEDS, int4_weights)
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_outputs_that_need_no_sign_on_the_device(tmp_path, core):
    graph, feeds = graph_of(RELU_CASES, range(60), relu_outputs)
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.whole
@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m3", "cortex-m4"]))
def test_every_output_without_a_sign_begins_at_its_sum(tmp_path, core):
    check_on_device(*thresholds.layer(), tmp_path, core)
