"""The kernels of RISC-V cores with vectors, in the emulator, with registers of several lengths."""

from dataclasses import replace

import numpy as np
import pytest

from tests.c.programs import one_graph
from tests.c.strip_cases import of_strips
from tests.firmware.device import check_on_device, require_core
from tests.firmware.test_slices_ops import smallest
from tests.sampling import sampled
from tinyrt.export import slices
from tinyrt.export.target import CORES, find_core

CORE = "rv32imcv"


@pytest.mark.parametrize("bits", sampled([1024], [128, 256, 1024]))
def test_registers_of_any_length_give_the_same(tmp_path, monkeypatch, bits):
    require_core(CORE)
    core = find_core(CORE)
    processor = core.processor.replace("vlen=128", f"vlen={bits}")
    assert (processor == core.processor) == (bits == 128)
    monkeypatch.setitem(CORES, CORE, replace(core, processor=processor))
    graph, feeds = one_graph(of_strips(sampled(6, 60)))
    check_on_device(graph, feeds, tmp_path, CORE)


@pytest.mark.whole
def test_layers_in_slices(tmp_path, monkeypatch):
    require_core(CORE)
    monkeypatch.setattr(slices, "divided", smallest)
    graph, feeds = one_graph(of_strips(40))
    check_on_device(graph, feeds, tmp_path, CORE, slices=1000)


@pytest.mark.whole
@pytest.mark.parametrize("value", [-128, 127])
def test_products_of_the_largest_bytes_fit(tmp_path, value):
    """127 beside 127 in every filter: two products are 2 * 127 * 128 at most."""
    require_core(CORE)
    graph, feeds = one_graph(of_strips(3))
    values = {
        name: replace(v, data=np.where(v.data < 0, -127, 127).astype(np.int8))
        if v.is_constant and v.dtype.value == "int8" and name.endswith("in1")
        else v
        for name, v in graph.values.items()
    }
    feeds = {name: np.full_like(x, value) for name, x in feeds.items()}
    check_on_device(replace(graph, values=values), feeds, tmp_path, CORE)
