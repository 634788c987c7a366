"""Kernels whose output lies on their input, as far as they say that it may, on emulated cores."""

import pytest

from tests.c.conformance import C_OPS
from tests.c.overlapping import overlapping_cases, overlapping_plan
from tests.firmware.device import check_on_device
from tests.firmware.test_all_ops import ops_for
from tests.ops.build import build_s8
from tests.sampling import sampled
from tinyrt.export import bundle


@pytest.mark.whole
@pytest.mark.parametrize(
    "core",
    sampled(["cortex-m55"], ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"]),
)
def test_outputs_on_inputs(tmp_path, monkeypatch, core):
    monkeypatch.setattr(bundle, "plan_memory", overlapping_plan)
    graph, feeds = overlapping_cases(ops_for(core, C_OPS, build_s8), range(sampled(1, 3)))
    check_on_device(graph, feeds, tmp_path, core)
