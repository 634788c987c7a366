"""What models of the zoo may cost on an emulated Cortex-M55, at most; tightened with every gain."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.firmware.test_zoo import emulate


@dataclass(frozen=True)
class Budget:
    """Most instructions per inference, bytes of code, arena and stack."""

    instructions: int
    code: int
    arena: int
    stack: int = 640


BUDGETS = {
    "autoencoder_ad": Budget(60_000, 2_500, 768),
    "dscnn_kws": Budget(786_000, 11_936, 12_096),
    "mobilenet_vww": Budget(2_469_000, 25_504, 40_896),
    "resnet8": Budget(2_180_000, 10_240, 34_912),
    "streaming_wakeword": Budget(219_000, 12_288, 6_144),
}

MAX_WEIGHTS = 1.1
"""Bytes of packed weights and biases, to those of the model."""


@pytest.mark.parametrize("name", sorted(BUDGETS))
def test_zoo_stays_within_its_budget(zoo, tmp_path, name):
    report, graph = emulate(zoo, name, tmp_path, "cortex-m55")
    budget = BUDGETS[name]
    constants = sum(v.nbytes for v in graph.values.values() if v.is_constant)
    assert report.bit_exact
    assert report.instructions <= budget.instructions
    assert report.flash.code <= budget.code
    assert report.ram.arena <= budget.arena
    assert report.ram.stack <= budget.stack
    assert report.flash.weights <= MAX_WEIGHTS * constants
