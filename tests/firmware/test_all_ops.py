"""Every op with a C kernel on every core: the references' answers, from one boot to a core."""

from functools import partial

import pytest

from tests.c.computed import LAYERS, computed
from tests.c.conformance import all_int4_ops, all_int16_ops, all_ops, graph_of
from tests.firmware.device import CORES_THAT_RUN, check_on_device
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES
from tests.sampling import sampled

SEEDS = range(4)
"""Enough for all kernels that more of them reach; so is `FEW` for the other widths."""
FEW = (0, 1, 2)


@pytest.mark.parametrize("core", sampled(["cortex-m4", "cortex-m55"], CORES_THAT_RUN))
def test_ops_on_the_device(tmp_path, core):
    graph, feeds = all_ops(SEEDS)
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.parametrize("cases", [all_int16_ops, all_int4_ops])
@pytest.mark.parametrize(
    "core",
    sampled(["cortex-m4", "cortex-m55"], ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"]),
)
def test_ops_of_other_widths_on_the_device(tmp_path, cases, core):
    graph, feeds = cases(FEW)
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.parametrize("make", [build_s8, build_s16])
@pytest.mark.parametrize("core", sampled(["cortex-m4"], CORES_THAT_RUN))
def test_layers_with_computed_weights_on_the_device(tmp_path, make, core):
    graph, feeds = graph_of({op: CASES[op] for op in LAYERS}, SEEDS, partial(computed, make))
    check_on_device(graph, feeds, tmp_path, core)
