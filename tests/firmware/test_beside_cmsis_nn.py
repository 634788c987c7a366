"""Every layer that CMSIS-NN has a function for takes fewer instructions than that, or is named."""

import pytest

from benchmarks.cmsis_nn import CALLS, has_twin, replace_calls
from benchmarks.kernels import (
    CMSIS_NN,
    LAYERS,
    cmsis_nn_figures,
    graph_of,
    markdown,
    measure,
    share_of_cmsis_nn,
)
from tests.firmware.device import require_core
from tinyrt.export import export_graph

CORES = ("cortex-m4", "cortex-m55")

BEHIND = {
    "cortex-m4": {},
    "cortex-m55": {},
}
"""Layers that take more than CMSIS-NN does, and at most how many times as many."""


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_a_layer_takes_fewer_instructions_than_cmsis_nn(core):
    require_core(core)
    layers = {name: layer for name, layer in LAYERS.items() if has_twin(layer)}
    shares = {row["layer"]: share_of_cmsis_nn(row) for row in measure(core, layers)}
    most = {name: BEHIND[core].get(name, 1) for name in layers}
    assert not {name: share for name, share in shares.items() if share > most[name]}
    assert all(shares[name] > 1 for name in BEHIND[core] if name in shares)


def test_every_layer_with_a_twin_has_its_figure():
    twins = [name for name, layer in LAYERS.items() if has_twin(layer)]
    figures = cmsis_nn_figures()
    assert {core: list(of) for core, of in figures.items()} == dict.fromkeys(CORES, twins)
    assert {LAYERS[name].op for name in twins} == set(CALLS)
    assert not has_twin(LAYERS["add, a value to each channel"])
    assert CMSIS_NN.name == "cmsis_nn.json"


def test_shares_stand_behind_what_each_takes():
    core, name = "cortex-m4", "dense, 1 row"
    theirs = cmsis_nn_figures()[core][name]
    row = {"core": core, "layer": name, "per": "MAC", "instructions": theirs // 2, "each": 1.5}
    other = {"core": core, "layer": "logistic", "per": "output", "instructions": 9, "each": 4.25}
    assert share_of_cmsis_nn(row) == pytest.approx(0.5, abs=0.001)
    assert share_of_cmsis_nn(other) is None
    assert share_of_cmsis_nn(row | {"core": "cortex-m0"}) is None
    *_, first, second = markdown([row, other], [core]).splitlines()
    assert (first, second) == (
        "| dense, 1 row | MAC | 1.50 (0.50) |",
        "| logistic | output | 4.25 |",
    )


def test_the_program_calls_cmsis_nn_in_place_of_its_own_kernels(tmp_path):
    layers = {name: LAYERS[name] for name in ("conv 3 x 3, stride 2", "mul", "dense, 1 row")}
    graph, _ = graph_of(layers)
    project = export_graph(graph, tmp_path / "p", core="cortex-m4")
    replace_calls(project, graph, [tmp_path / "arm.o"])
    text = (project.directory / "kernels.c").read_text()
    calls = [part.split("TINYRT_PROFILE_END")[0] for part in text.split("TINYRT_PROFILE_BEGIN")[1:]]
    conv, mul, dense = calls
    sizes = "{2, 2}, {0, 0}, {1, 1}, {-128, 127}}"
    assert conv.startswith("(0);\n(void)arm_convolve_wrapper_s8(&peer_ctx")
    assert f"&(const cmsis_nn_conv_params){{-3, 3, {sizes}" in conv
    assert "&(const cmsis_nn_dims){1, 16, 16, 32}, (const int8_t *)peer_inputs[0]" in conv
    copies = [f"memcpy(peer_inputs[{i}], input_{i}, 8192);" for i in range(2)]
    assert "\n".join((*copies, "", "TINYRT_PROFILE_BEGIN(1);")) in text
    first, second = (f"(const int8_t *)peer_inputs[{i}]" for i in range(2))
    assert f"(void)arm_elementwise_mul_s8({first}, {second}" in mul
    assert "arm_fully_connected_wrapper_s8(&peer_2_ctx" in dense
    before = text[: text.index("TINYRT_PROFILE_BEGIN(2)")]
    assert "arm_vector_sum_s8(peer_2_sums, 512, 64, peer_2_w, -3, 0, NULL);" in before
    assert f"OBJECTS += {tmp_path / 'arm.o'}\n" in (project.directory / "Makefile").read_text()
