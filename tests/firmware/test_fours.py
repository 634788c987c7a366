"""Four pixels at a time on emulated cores, in every way that compilers make their loops."""

from itertools import product

import numpy as np
import pytest

from tests.c import thresholds
from tests.c.conformance import graph_of
from tests.c.fours import BUILDS, FOURS, KERNELS
from tests.firmware.device import check_on_device, run_on_device
from tests.sampling import sampled
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

WAYS = (
    "",
    "-DTINYRT_FAST",
    "-Os",
    "-O0",
    "-fno-omit-frame-pointer",
    "-ffixed-r9",
    "-DTINYRT_NO_ASM",
)


def combined(cores, builds):
    """(core, way, build), all that there are: RISC-V has no r9."""
    every = product(cores, WAYS, builds)
    return [one for one in every if one[:2] != ("rv32imc", "-ffixed-r9")]


def check_way(graph, feeds, folder, core, way):
    """As ``check_on_device``; without optimisation, outputs alone: there the stack has no bound."""
    if way != "-O0":
        check_on_device(graph, feeds, folder, core, way)
        return
    _, _, outputs = run_on_device(graph, feeds, folder, core, way)
    for name, expected in evaluate(graph, feeds).items():
        found = outputs[name].reshape(expected.shape)
        np.testing.assert_array_equal(found, expected, err_msg=name, strict=True)


ALL = combined(KERNELS, BUILDS)
SAMPLE = [("cortex-m0", "-ffixed-r9", "extremes")]


@pytest.mark.parametrize(("core", "way", "build"), sampled(SAMPLE, ALL))
def test_four_pixels_are_exact_on_the_device(tmp_path, core, way, build):
    graph, feeds = graph_of(FOURS, range(sampled(4, 30)), BUILDS[build])
    check_way(graph, feeds, tmp_path, core, way)


@pytest.mark.whole
@pytest.mark.parametrize("way", sampled([""], WAYS))
def test_every_output_without_a_sign_begins_at_its_sum(tmp_path, way):
    _, _, outputs = run_on_device(*thresholds.layer(), tmp_path, "cortex-m3", way)
    expected = evaluate(*thresholds.layer())["y"]
    np.testing.assert_array_equal(outputs["y"].reshape(expected.shape), expected)
