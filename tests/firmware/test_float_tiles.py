"""Float kernels by tiles on cores with a unit for floats: answers, and instructions per product."""

import numpy as np
import pytest

from benchmarks.kernels import FLOAT_LAYERS, measure
from tests.c.float_tiles import every_corner, special_values
from tests.c.floats import assert_close
from tests.firmware.device import check_image, require_core, run_on_device
from tests.sampling import sampled
from tinyrt.export import find_core
from tinyrt.ops.shared.evaluate import evaluate

CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")
BOTH = sampled(["cortex-m55"], CORES)
"""One with assembly for the unit, one with vectors."""

FLAGS = ("", "-DTINYRT_NO_ASM", "-O0")
SAMPLE = [("cortex-m4", "")]

MOST = 3.0
"""Instructions of a multiplication and an addition."""

MOST_OF_FEW = {
    "depthwise 3 x 3, 4 channels, float": 3.5,
    "depthwise 3 x 3, 3 channels, float": 4.2,
    "depthwise 3 x 3, 2 channels, float": 5.6,
    "depthwise 5 x 1, 3 channels of a column, float": 3.9,
}
"""The same of layers whose pixels have few products."""

pytestmark = pytest.mark.device


@pytest.mark.parametrize("core", sampled(["cortex-m4"], CORES))
def test_corners_are_near_the_references(tmp_path, core):
    graph, feeds = every_corner()
    image, _, outputs = run_on_device(graph, feeds, tmp_path, core)
    check_image(image, find_core(core))
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split()[0], outputs[name].reshape(expected.shape), expected)


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_corners_are_the_same_without_assembly(tmp_path, core):
    graph, feeds = every_corner()
    _, _, outputs = run_on_device(graph, feeds, tmp_path / "asm", core)
    _, _, plain = run_on_device(graph, feeds, tmp_path / "c", core, "-DTINYRT_NO_ASM")
    for name, expected in plain.items():
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name)


@pytest.mark.parametrize(
    ("core", "cflags"), sampled(SAMPLE, [(core, flags) for core in CORES for flags in FLAGS])
)
def test_limits_leave_what_is_no_number(tmp_path, core, cflags):
    graph, feeds = special_values()
    _, _, outputs = run_on_device(graph, feeds, tmp_path, core, cflags)
    for name, expected in evaluate(graph, feeds).items():
        found = outputs[name].reshape(expected.shape)
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.parametrize("core", BOTH)
def test_layers_take_three_instructions_a_product_at_most(core):
    require_core(core)
    layers = {name: FLOAT_LAYERS[name] for name in [*FLOAT_LAYERS][:: sampled(5, 1)]}
    rows = {row["layer"]: row for row in measure(core, layers)}
    assert {row["per"] for row in rows.values()} == {"MAC"}
    most = dict.fromkeys(rows, MOST) | MOST_OF_FEW
    assert not {name: row["each"] for name, row in rows.items() if row["each"] > most[name]}
