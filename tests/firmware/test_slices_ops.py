"""Every kernel in the smallest parts that it can be cut into, on emulated cores: exact."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.c import packed_cases
from tests.c.conformance import (
    C_OPS,
    all_float_ops,
    all_int4_ops,
    all_int16_ops,
    all_ops,
    graph_of,
)
from tests.c.floats import assert_close
from tests.c.overlapping import overlapping_cases, overlapping_plan
from tests.c.packed_cases import INT4_CASES, PACKED_CASES, RELU_CASES, relu_outputs
from tests.firmware.device import check_on_device, run_on_device
from tests.ops.build import build_s8
from tests.sampling import sampled
from tinyrt.backends.c.parts.cutting import Part
from tinyrt.export import bundle, slices
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORES = ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"]
INT4 = partial(build_s8, weights=DType.INT4)
LAYERS = {
    case.__name__: case
    for case in (
        *(packed_cases.pointwise, packed_cases.window, packed_cases.dense),
        *(packed_cases.depthwise, packed_cases.depthwise3x3),
    )
}
KINDS = {
    "int8": all_ops,
    "int16": all_int16_ops,
    "int4": all_int4_ops,
    "packed": partial(graph_of, PACKED_CASES),
    "packed int4": partial(graph_of, INT4_CASES, build=INT4),
    "layers": partial(graph_of, LAYERS),
    "layers int4": partial(graph_of, LAYERS, build=INT4),
    "relu": partial(graph_of, RELU_CASES, build=relu_outputs),
}
ALL = [(core, kind) for core in CORES for kind in KINDS]
SAMPLE = [
    ("cortex-m4", "relu"),
]


def smallest(call, instructions, limit, cut_of_call, cost_of) -> Iterator[Part]:
    """A call in single units, each in turn cut as far as it can be."""
    del instructions
    cut = cut_of_call(call)
    if cut is None:
        yield Part(call, 1)
        return
    assert cut.units > 1
    for unit in range(cut.units):
        yield from smallest(cut.part(unit, unit + 1), 1, limit, cut_of_call, cost_of)


@pytest.mark.parametrize(("core", "kind"), sampled(SAMPLE, ALL))
def test_kernels_in_parts_answer_as_whole_ones(tmp_path, monkeypatch, core, kind):
    monkeypatch.setattr(slices, "divided", smallest)
    graph, feeds = KINDS[kind]((0, 1))
    check_on_device(graph, feeds, tmp_path, core, slices=1000)


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_float_kernels_in_parts_are_near_the_references(tmp_path, monkeypatch, core):
    monkeypatch.setattr(slices, "divided", smallest)
    graph, feeds = all_float_ops((0, 1))
    _, _, outputs = run_on_device(graph, feeds, tmp_path, core, slices=1000)
    for name, expected in evaluate(graph, feeds).items():
        assert_close(name.split("/")[0], outputs[name].reshape(expected.shape), expected)


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_parts_keep_to_the_order_in_which_outputs_may_lie_on_inputs(tmp_path, monkeypatch, core):
    monkeypatch.setattr(slices, "divided", smallest)
    monkeypatch.setattr(bundle, "plan_memory", overlapping_plan)
    graph, feeds = overlapping_cases(C_OPS, range(3))
    check_on_device(graph, feeds, tmp_path, core, slices=1000)
