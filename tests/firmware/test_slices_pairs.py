"""Convolutions in parts of several pixels, with pairs of pixels that lie in two rows: exact."""

from functools import partial

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.packed_cases import relu_outputs
from tests.firmware.device import check_on_device
from tests.ops.build import Case, build_s8
from tinyrt.backends.c.blocks import fours
from tinyrt.backends.c.parts.cutting import Part
from tinyrt.export import ExportOptions, export_graph, slices
from tinyrt.ir import DType
from tinyrt.ops.conv2d import Conv2dAttrs

pytestmark = pytest.mark.slow


def odd_rows(rng) -> Case:
    """Rows of 1 to 9 pixels, an odd number, and any number of rows."""
    c_in, c_out = int(rng.choice([1, 3, 4, 16])), int(rng.integers(5, 10))
    size = int(rng.integers(1, 6)), 2 * int(rng.integers(0, 5)) + 1
    kernel = tuple(int(n) for n in rng.integers(2, 4, 2))
    shapes = ((1, *size, c_in), (c_out, *kernel, c_in), (c_out,))
    return Case("conv2d", Conv2dAttrs(padding="SAME"), shapes, frozenset({1, 2}))


def sparse(case, rng):
    """The case with one tap alone to each filter."""
    built = build_s8(case, rng)
    w = np.asarray(built.graph.value("in1").data)
    w[:, 1:] = 0
    w[:, :, 1:] = 0
    return built


BUILDS = {
    "s8": build_s8,
    "s4": partial(build_s8, weights=DType.INT4),
    "sparse_s8": sparse,
    "relu_s8": relu_outputs,
}
CORES = ["cortex-m0", "cortex-m3", "cortex-m4", "rv32imc"]
ALL = [(core, b) for core in CORES for b in BUILDS if b != "relu_s8" or core == "cortex-m4"]


def halves(call, instructions, limit, cut_of_call, cost_of):
    """A call in single units, and each of these in two halves of theirs."""
    del instructions, limit, cost_of
    for one in units(call, cut_of_call):
        cut = cut_of_call(one)
        middle = -(-cut.units // 2) if cut else 0
        yield from (
            [Part(cut.part(0, middle), 1), Part(cut.part(middle, cut.units), 1)]
            if cut
            else [Part(one, 1)]
        )


def units(call, cut_of_call):
    cut = cut_of_call(call)
    return [cut.part(i, i + 1) for i in range(cut.units)] if cut else [call]


@pytest.mark.whole
@pytest.mark.parametrize(("core", "build"), ALL)
def test_pairs_in_two_rows_answer_as_whole_layers(tmp_path, monkeypatch, core, build):
    monkeypatch.setattr(slices, "divided", halves)
    monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    graph, feeds = graph_of({"odd": odd_rows}, range(40), BUILDS[build])
    options = ExportOptions(slices=1000)
    kernels = export_graph(graph, tmp_path / "kernels", core=core, options=options).kernels
    assert f"tinyrt_window_pixels_{build}" in kernels
    check_on_device(graph, feeds, tmp_path, core, slices=1000)
