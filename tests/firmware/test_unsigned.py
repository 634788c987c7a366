"""Weights on uint8 with a zero point beside int8, on emulated cores: the documentation's table."""

from itertools import product

import numpy as np
import pytest

from benchmarks.unsigned import UNSIGNED, measure
from tests.c.wide_layers import of_all_kinds
from tests.docs.pages import rows_of
from tests.firmware.device import check_on_device, require_core
from tests.sampling import sampled

pytestmark = [pytest.mark.slow, pytest.mark.device]

CORES = ("cortex-m0", "cortex-m4", "cortex-m55")
MOST = {"cortex-m0": 1.3, "cortex-m4": 1.25, "cortex-m55": 1.25}
DEARER = {
    ("cortex-m4", "depthwise 3 x 3"): 1.35,
    ("cortex-m55", "depthwise 3 x 3"): 2.2,
    ("cortex-m55", "depthwise 3 x 3, blob"): 2.2,
    ("cortex-m55", "conv 1 x 1"): 1.3,
    ("cortex-m55", "conv 1 x 1, blob"): 1.3,
}
"""What int8 has a form of its own for, and a point of two vectors, which becomes one of three."""


def told():
    """Core and layer -> what the page says."""
    rows = rows_of("kernels.md", "layer | M0 | M4 | M55 |")
    return {
        (core, name): float(cell)
        for name, *cells in rows
        for core, cell in zip(CORES, cells, strict=True)
    }


def test_the_page_has_every_layer_within_its_limit():
    rows = told()
    assert {name for _, name in rows} == {*UNSIGNED, *(f"{name}, blob" for name in UNSIGNED)}
    assert not {k: v for k, v in rows.items() if v > DEARER.get(k, MOST[k[0]])}


@pytest.mark.whole
@pytest.mark.parametrize("blob", sampled([True], [False, True]), ids=lambda b: "blob" if b else "")
@pytest.mark.parametrize("core", CORES)
def test_layers_cost_what_the_page_says(core, blob):
    require_core(core)
    rows = told()
    for row in measure(core, UNSIGNED, blob=blob):
        name = f"{row['layer']}{', blob' if blob else ''}"
        assert row["uint8"] / row["int8"] == pytest.approx(rows[core, name], abs=0.011), name


KINDS = list(product((*CORES, "cortex-m3", "rv32imc"), (False, True), (False, True)))
SAMPLE = [("cortex-m4", True, True)]
"""Core, whether outputs need no sign, and whether constants lie apart."""


@pytest.mark.whole
@pytest.mark.parametrize(("core", "relu", "blob"), sampled(SAMPLE, KINDS))
def test_layers_of_all_kinds_equal_the_references(tmp_path, core, relu, blob):
    require_core(core)
    for zero_point in sampled([110], [0, 110, 128, 255]):
        graph = of_all_kinds(zero_point, relu)
        folder = tmp_path / str(zero_point)
        folder.mkdir()
        x = np.random.default_rng(0).integers(-128, 128, graph.value("x").shape, np.int8)
        check_on_device(graph, {"x": x}, folder, core, blob=blob)
