"""Every op with a C kernel on every core: the references' answers, from one boot to a core."""

from functools import partial
from itertools import product

import pytest

from tests.c.branches import files_for
from tests.c.computed import LAYERS, computed
from tests.c.conformance import C_OPS, INT4_OPS, INT16_OPS, all_ops, graph_of
from tests.firmware.device import CORES_THAT_RUN, check_on_device
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.sampling import WHOLE, sampled
from tinyrt.backends.c.choice import choose
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import DType

SEEDS = range(sampled(1, 4))
"""Four are enough for all kernels that more of them reach; so is `FEW` for the other widths."""
FEW = range(sampled(1, 3))


@pytest.mark.parametrize("core", sampled(["cortex-m4", "cortex-m55"], CORES_THAT_RUN))
def test_ops_on_the_device(tmp_path, core):
    graph, feeds = all_ops(SEEDS, ops_for(core, C_OPS, build_s8))
    check_on_device(graph, feeds, tmp_path, core)


def ops_for(core, ops, build):
    """Ops with kernels that are written for the core's instructions, or with headers that are which
    no other op has. The others' code is the same on a Cortex-M4, which has all ops on int8."""
    if WHOLE or (core == "cortex-m4" and build is build_s8):
        return ops
    isa, target = find_core(core).isa.value, target_of(find_core(core), Optimize.BALANCED)
    found = {}
    for op, seed in product(ops, SEEDS):
        rng = rng_of(op, seed)
        node = build(CASES[op](rng), rng).graph.bind(0)
        for call in choose(node, target).calls:
            found.setdefault(op, set()).update(files_for(call.function, isa))
    own = [op for op in ops if any(path.suffix == ".c" for path in found[op])]
    there = set().union(*(found[op] for op in own))
    for op in ops:
        if found[op] - there:
            own.append(op)
            there |= found[op]
    return own


OTHERS = {
    "int16": (INT16_OPS, build_s16),
    "int4": (INT4_OPS, partial(build_s8, weights=DType.INT4)),
}


@pytest.mark.parametrize(
    ("core", "width"),
    sampled(
        [("cortex-m4", "int16")],
        [*product(("cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"), OTHERS)],
    ),
)
def test_ops_of_other_widths_on_the_device(tmp_path, width, core):
    ops, build = OTHERS[width]
    graph, feeds = graph_of({op: CASES[op] for op in ops_for(core, ops, build)}, FEW, build)
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.whole
@pytest.mark.parametrize("make", [build_s8, build_s16])
@pytest.mark.parametrize("core", CORES_THAT_RUN)
def test_layers_with_computed_weights_on_the_device(tmp_path, make, core):
    graph, feeds = graph_of({op: CASES[op] for op in LAYERS}, SEEDS, partial(computed, make))
    check_on_device(graph, feeds, tmp_path, core)
