"""Every kernel in the smallest parts that it can be cut into, on emulated cores: exact."""

from collections.abc import Iterator

import pytest

from tests.c.conformance import C_OPS, all_int4_ops, all_int16_ops, all_ops
from tests.c.overlapping import overlapping_cases, overlapping_plan
from tests.firmware.device import check_on_device
from tests.sampling import sampled
from tinyrt.backends.c.parts.cutting import Part
from tinyrt.export import bundle, slices

pytestmark = pytest.mark.slow

CORES = ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"]
CASES = {"int8": all_ops, "int16": all_int16_ops, "int4": all_int4_ops}
ALL = [(core, kind) for core in CORES for kind in CASES]
SAMPLE = [("cortex-m4", "int8"), ("cortex-m55", "int4")]


def smallest(call, instructions, limit, cut_of_call) -> Iterator[Part]:
    """A call in single units, each in turn cut as far as it can be."""
    del instructions
    cut = cut_of_call(call)
    if cut is None:
        yield Part(call, 1)
        return
    assert cut.units > 1
    for unit in range(cut.units):
        yield from smallest(cut.part(unit, unit + 1), 1, limit, cut_of_call)


@pytest.mark.parametrize(("core", "kind"), sampled(SAMPLE, ALL))
def test_kernels_in_parts_answer_as_whole_ones(tmp_path, monkeypatch, core, kind):
    monkeypatch.setattr(slices, "divided", smallest)
    graph, feeds = CASES[kind](sampled((0,), (0, 1)))
    check_on_device(graph, feeds, tmp_path, core, slices=1000)


@pytest.mark.parametrize("core", sampled(["cortex-m55"], CORES))
def test_parts_keep_to_the_order_in_which_outputs_may_lie_on_inputs(tmp_path, monkeypatch, core):
    monkeypatch.setattr(slices, "divided", smallest)
    monkeypatch.setattr(bundle, "plan_memory", overlapping_plan)
    graph, feeds = overlapping_cases(C_OPS, sampled((0,), range(3)))
    check_on_device(graph, feeds, tmp_path, core, slices=1000)
