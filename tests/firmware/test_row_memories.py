"""Ops that run row by row beside memory regions, tensors outside, states and other models."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.memory.nets import RandomNet, gated_net
from tests.memory.targets import DSP, kernels_for
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.errors import BudgetError
from tinyrt.export import ExportOptions, Memories
from tinyrt.export.states import lay_out
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Graph, Value
from tinyrt.memory import Region, plan_by_rows, plan_memory
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.shared.spec import NoAttrs


def emulate(path, graph, core, seed=0, samples=3, **wanted):
    """A report on random inputs, compared with the host's answers."""
    rng = np.random.default_rng(seed)
    inputs = {
        name: rng.integers(-128, 128, (samples, *graph.value(name).shape[1:])).astype(np.int8)
        for name in graph.fed
    }
    return run_emulated(
        save_tflite(graph, path / "net.tflite"),
        core=core,
        inputs=inputs,
        expected=Model(graph).run_raw(inputs),
        build_dir=path / "build",
        options=ExportOptions(**wanted),
    )


@pytest.mark.whole
@pytest.mark.parametrize(
    ("core", "seed", "how"),
    [
        (*net, how)
        for net in [*product(("cortex-m0", "cortex-m4", "cortex-m55"), [13]), ("cortex-m4", 50)]
        for how in ("by_rows", "input_rows")
    ],
)
def test_several_segments_answer_alike_on_every_kind_of_core(tmp_path, core, seed, how):
    graph, plan = several_segments(core, seed)
    ways = {"by_rows": {"max_arena": plan.arena_bytes}, "input_rows": {"input_rows": True}}
    report = emulate(tmp_path, graph, core, **ways[how])
    assert report.bit_exact
    if how == "by_rows":
        assert report.ram.arena == plan.arena_bytes


@cache
def several_segments(core, seed):
    """A network and its smallest plan: the same both ways."""
    graph = gated_net(seed)
    plan = plan_by_rows(graph, kernels_for(core), costly=True)
    assert len(plan.segments) > 2
    return graph, plan


MEMORIES = {
    "one that just fits": Memories((Region("dtcm", 1_096),)),
    "three regions": Memories((Region("a", 400), Region("b", 700), Region("c", 1_200))),
    "outside and divided": Memories(
        (Region("dtcm", 320), Region("sram", 1_088)),
        inputs_in_arena=False,
        outputs_in_arena=False,
        alignment=32,
    ),
}
"""All of them too small for ops that run one by one."""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("case", "how"),
    sampled(
        [("outside and divided", "input_rows")],
        [*product(MEMORIES, ("by_rows", "input_rows"))],
    ),
)
def test_rows_go_with_memories(tmp_path, case, how):
    graph, memories = gated_net(37), MEMORIES[case]
    options = memories.options(graph, lay_out(graph))
    with pytest.raises(BudgetError):
        plan_memory(graph, DSP, options=options)
    report = emulate(tmp_path, graph, "cortex-m4", memories=memories, **{how: True})
    assert report.bit_exact
    assert report.row_by_row
    assert report.ram.arena <= sum(region.nbytes for region in memories.regions)


def keeping_net():
    """Convolutions whose last result is added to the sum of all inferences before."""
    net = RandomNet(0)
    for name, channels in (("x", 2), ("before", 2)):
        net.values[name] = Value(name, DType.INT8, (1, 12, 10, channels), net.q)
    x = "x"
    for c_in, c_out in ((2, 8), (8, 8), (8, 2)):
        w, b = net.weights((c_out, 3, 3, c_in), 0)
        x = net.op("conv2d", Conv2dAttrs(), x, w, b).name
    after = net.op("add", AddAttrs(), x, "before").name
    y = net.op("tanh", NoAttrs(), after).name
    graph = Graph("keeping", ("x", "before"), (y, after), net.values, tuple(net.nodes))
    return verify(replace(graph, states=(("before", after),)))


@pytest.mark.whole
@pytest.mark.parametrize("how", ["held", "pushed"])
def test_rows_go_with_states(tmp_path, how):
    graph, wanted = keeping_net(), {"input_rows": True} if how == "pushed" else {}
    report = emulate(tmp_path, graph, "cortex-m4", samples=5, max_arena=1_100, **wanted)
    assert report.bit_exact
    assert report.row_by_row
    assert report.ram.arena <= 1_100
    assert report.ram.state == 240
