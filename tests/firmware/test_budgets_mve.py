"""What models of the zoo may cost on an emulated Cortex-M55, at most; tightened with every gain."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.firmware.test_zoo import emulate
from tests.sampling import sampled


@dataclass(frozen=True)
class Budget:
    """Most instructions per inference, bytes of code, arena and stack."""

    instructions: int
    code: int
    arena: int
    stack: int = 640


BUDGETS = {
    "autoencoder_ad": Budget(46_100, 1_952, 768, 264),
    "dscnn_kws": Budget(639_700, 12_128, 12_096),
    "mobilenet_vww": Budget(1_963_000, 25_472, 40_704),
    "resnet8": Budget(1_930_000, 8_064, 34_912),
    "streaming_wakeword": Budget(181_700, 14_320, 6_144),
}

MAX_WEIGHTS = 1.1
"""Bytes of packed weights and biases, to those of the model."""


@pytest.mark.parametrize("name", sampled(["autoencoder_ad"], sorted(BUDGETS)))
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
