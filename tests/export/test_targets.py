"""Cores and what kernels are chosen for: by a table, and names that are nearly one."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.export.models import dense, layer_of
from tests.export.test_state_windows import Window
from tests.memory.targets import DSP
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Target, call
from tinyrt.backends.c.weights import Weights
from tinyrt.errors import UnsupportedError
from tinyrt.export import export_graph, find_core, model, sparsity
from tinyrt.export.code import At, rendered
from tinyrt.export.rows.segment import SegmentWriter
from tinyrt.export.rows.sharing import Hole
from tinyrt.export.states import lay_out
from tinyrt.export.target import BYTE_PAYS, FAST_BYTE_PAYS, Optimize, find_optimize, target_of
from tinyrt.export.writer import ModelWriter
from tinyrt.ir import DType, QParams, Value
from tinyrt.memory import Region, plan_memory

SCALAR = InstructionSet.SCALAR
TARGETS = {
    "cortex-m0": Target(SCALAR, False, False, True, True),
    "cortex-m0plus": Target(SCALAR, False, False, True, True),
    "cortex-m3": Target(SCALAR, True, True, True, False),
    "cortex-m4": Target(InstructionSet.DSP, False, False, False, False),
    "cortex-m23": Target(SCALAR, False, False, True, True),
    "cortex-m55": Target(InstructionSet.MVE, False, False, False, False),
    "rv32imc": Target(SCALAR, False, True, True, False),
    "rv32imcb": Target(SCALAR, False, True, True, False),
    "rv32imcv": Target(SCALAR, False, True, True, False, strips=True),
    "host": Target(SCALAR, False, False, False, False),
    "host-avx2": Target(InstructionSet.AVX2, False, False, False, False),
}


@pytest.mark.parametrize("optimize", Optimize)
@pytest.mark.parametrize("core", TARGETS)
def test_a_target_is_what_core_and_goal_say(core, optimize):
    pays = FAST_BYTE_PAYS if optimize is Optimize.SPEED else BYTE_PAYS
    small = optimize is Optimize.SIZE
    wanted = replace(TARGETS[core], small=small, byte_pays=pays)
    assert target_of(find_core(core), optimize) == wanted


@pytest.mark.parametrize(
    ("find", "name", "hint"),
    [
        (find_core, "m44", "did you mean 'm4'?"),
        (find_core, "cortex-m44", "did you mean 'm4'?"),
        (find_core, "cortexm4", "did you mean 'cortex-m4'?"),
        (find_core, "rv32imx", "did you mean 'rv32imc'?"),
        (find_core, "cortex-zz", None),
        (find_core, "zz", None),
        (find_optimize, "spede", "did you mean 'speed'?"),
        (find_optimize, "zz", None),
    ],
)
def test_a_name_that_is_nearly_one_is_told(find, name, hint):
    with pytest.raises(UnsupportedError) as found:
        find(name)
    assert found.value.hint == hint


def test_a_layer_of_zeros_without_a_sparse_kernel_is_dense(monkeypatch):
    graph, node = layer_of(np.zeros((4, 32), np.int8)), "dense"
    monkeypatch.setattr(sparsity, "choose", lambda *given: SimpleNamespace(stored=None))
    (layer,) = sparsity.sparse_layers(graph, DSP.target)
    assert (layer.name, layer.zeros, layer.form, layer.forms) == (node, 1.0, Weights.DENSE, {})
    assert "no sparse kernel takes such a layer" in str(layer)


def test_weights_that_are_computed_have_no_zeros_that_are_known():
    graph = layer_of(np.zeros((4, 32), np.int8))
    given = Value("w", DType.INT8, (4, 32), QParams((0.01,)))
    fed = replace(graph, inputs=("x", "w"), values={**graph.values, "w": given})
    assert sparsity._zeros(fed.bind(0)) == 0.0
    assert sparsity._zeros(graph.bind(0)) == 1.0


# What is written, part by part


def test_functions_of_convolutions_are_asked_for_in_the_order_of_ops(monkeypatch):
    nodes = {i: SimpleNamespace(index=i, op="conv2d", describe=lambda: "") for i in (8, 1, 16)}
    graph = SimpleNamespace(bound=nodes.values, bind=nodes.get)
    kernels = {i: SimpleNamespace(calls=[SimpleNamespace(function=f"f{i}")]) for i in nodes}
    monkeypatch.setattr(model, "choose", lambda node, target: kernels[node.index])
    plan = SimpleNamespace(segments=())
    assert [*model._functions(graph, plan, None)] == ["f1", "f8", "f16"]


@pytest.mark.parametrize(("estimates", "told"), [((1.25, 2.5), 4), ((1.25, 2.0), 3), (None, None)])
def test_estimates_are_told_in_whole_instructions(estimates, told, tmp_path):
    project = export_graph(dense(), tmp_path)
    assert replace(project, estimates=estimates).instructions == told


@pytest.mark.parametrize("count", [1, 2])
def test_each_array_has_a_name_of_its_own(count):
    """An op for some rows has other weights, and what is equal is written once."""
    graph = dense()
    writer = ModelWriter("net", graph, plan_memory(graph, DSP), DSP.target, lay_out(graph))
    writer.begin(graph.bind(0))
    writer.write_call(call("tinyrt_f", Data("w", np.zeros(4, np.int8)), Data("u", np.ones(3))))
    with writer.variant("_of_2"):
        other = np.zeros(4, np.int8) if count == 1 else np.ones(4, np.int8)
        writer.write_call(call("tinyrt_f", Data("w", other)))
    names = ["net_n0_w", "net_n0_u", "net_n0_of_2_w"]
    assert [name.removesuffix("[]") for name in writer.weights] == names[: 1 + count]


def test_a_view_of_a_state_lies_within_it():
    graph = Window(2, 8).graph()
    states = lay_out(graph)
    plan = replace(plan_memory(graph, DSP, options=None), views={"v": ("s", 12)})
    writer = ModelWriter("net", graph, plan, DSP.target, states)
    assert writer._inside("v") == At("state", (states.offsets["s"] + 12,))
    assert states.offsets["s"] == 16


@pytest.mark.parametrize(
    ("hole", "token"),
    [
        (Hole("data", "net_w"), "net_w"),
        (Hole("place", "arena", 24), At("arena", (24,))),
    ],
)
def test_what_stages_agree_in_is_written_as_it_is(hole, token):
    assert hole.token == token


@pytest.mark.parametrize(("cut", "each"), [(False, "24"), (True, "12 * rows")])
def test_a_place_moves_on_by_all_rows_of_a_batch(cut, each):
    value, moves = Value("y", DType.INT8, (1, 4)), []
    parts = {"_graph": SimpleNamespace(value={"y": value}.get), "_own": "", "moving": 0}
    stub = SimpleNamespace(writer=SimpleNamespace(pointer=lambda value: (value.name,)), **parts)
    access, stage = SimpleNamespace(is_whole=True, step=12, name="y"), SimpleNamespace(block=2)
    SegmentWriter._place(stub, access, cut, moves, stage)
    assert [text.strip() for text in rendered(moves)] == [f"moved[0] += {each};"]


def test_rings_lie_in_the_first_region_with_bytes_or_in_their_own():
    regions = tuple(Region(name, n) for name, n in (("none", 0), ("fast", 8), ("slow", 8)))
    for of, rings, base in (({}, {}, "fast"), ({"ring": 2}, {"ring": None}, "slow")):
        plan = SimpleNamespace(regions=regions, region_of=of)
        stub = SimpleNamespace(_plan=plan, _segment=SimpleNamespace(rings=rings))
        assert SegmentWriter._base.fget(stub) == f"arena_{base}"
