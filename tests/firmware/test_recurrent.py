"""LSTM and SVDF on emulated cores: ends of all ranges, and instructions of models of one op."""

from itertools import islice

import pytest

from benchmarks.kernels import LAYERS, measure, share_of_cmsis_nn
from tests.c.programs import one_graph
from tests.firmware.device import check_on_device, require_core
from tests.ops.corners.recurrent import LSTM, recurrent
from tests.sampling import sampled
from tinyrt import cost, run_emulated

PROGRAMS = sampled(8, 4)
"""Programs that the corner cases are spread over: each has pointers to all its ports."""

LIMITS = {
    ("cortex-m4", "lstm_29_12_24"): 352_800,
    ("cortex-m4", "lstm_49_40_64"): 2_521_000,
    ("cortex-m4", "lstm_1_128_128"): 188_900,
    ("cortex-m4", "lstm_28_28_20"): 314_000,
    ("cortex-m4", "lstm_49_257_80"): 7_228_000,
    ("cortex-m4", "svdf_40_64_1_10_s16"): 10_180,
    ("cortex-m4", "svdf_40_64_1_10_s8"): 10_070,
    ("cortex-m4", "svdf_128_256_2_8_s16"): 57_050,
    ("cortex-m4", "svdf_128_256_2_8_s8"): 55_400,
    ("cortex-m55", "lstm_29_12_24"): 93_500,
    ("cortex-m55", "lstm_49_40_64"): 540_100,
    ("cortex-m55", "lstm_1_128_128"): 34_060,
    ("cortex-m55", "lstm_28_28_20"): 81_270,
    ("cortex-m55", "lstm_49_257_80"): 1_265_000,
    ("cortex-m55", "svdf_40_64_1_10_s16"): 2_970,
    ("cortex-m55", "svdf_40_64_1_10_s8"): 2_590,
    ("cortex-m55", "svdf_128_256_2_8_s16"): 11_270,
    ("cortex-m55", "svdf_128_256_2_8_s8"): 10_370,
    ("cortex-m3", "lstm_49_40_64"): 3_940_000,
    ("cortex-m3", "svdf_128_256_2_8_s8"): 94_700,
    ("cortex-m0", "lstm_29_12_24"): 1_068_000,
    ("cortex-m0", "svdf_40_64_1_10_s16"): 33_140,
}
"""(core, model) -> most instructions of a run: half a percent above what was reached."""

SOME = [
    ("cortex-m4", "lstm_29_12_24"),
    ("cortex-m55", "svdf_128_256_2_8_s16"),
]


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.parametrize("core", sampled(["cortex-m55"], ["cortex-m4", "cortex-m55"]))
@pytest.mark.parametrize("first", sampled([0], range(PROGRAMS)))
def test_corners_equal_the_references(tmp_path, core, first):
    graph, feeds = one_graph(dict(islice(recurrent().items(), first, None, PROGRAMS)))
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.parametrize(("core", "name"), sampled(SOME, list(LIMITS)))
def test_models_of_one_op_keep_to_their_budgets(zoo, tmp_path, core, name):
    path = zoo / "models" / "kernels" / f"{name}.tflite"
    report = run_emulated(path, core=core, build_dir=tmp_path, samples=2)
    assert report.bit_exact
    assert report.instructions <= LIMITS[core, name]
    assert report.ram.static == 0
    if core != "cortex-m0":  # whose figures are those of a Cortex-M3, times a bound
        close = 0.05 if core == "cortex-m4" else 0.03  # whose prices are those of all dense rows
        assert cost(path, core=core).instructions == pytest.approx(report.instructions, rel=close)


@pytest.mark.whole
@pytest.mark.parametrize(("core", "most"), [("cortex-m4", 0.47), ("cortex-m55", 0.27)])
def test_lstms_of_int16_take_a_share_of_what_cmsis_nn_does(core, most):
    require_core(core)
    layers = {name: layer for name, layer in LAYERS.items() if layer.op == LSTM and "int16" in name}
    shares = [share_of_cmsis_nn(row) for row in measure(core, layers)]
    assert len(shares) == 2
    assert most - 0.02 < max(shares) <= most
