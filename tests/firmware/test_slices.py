"""Models of the zoo slice by slice on emulated cores: how long slices are, and what they cost."""

import numpy as np
import pytest

from tests.firmware.test_zoo import MODELS, emulate
from tests.firmware.two_models import FIRST, SECOND, assert_golden, pair_of
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_c

pytestmark = pytest.mark.slow

LIMIT = 50_000
COST = 0.01
"""Most instructions that slices add, as a share of all."""

KEPT = {"cortex-m0": 12, "cortex-m3": 4, "rv32imc": 4}
"""Core -> bytes that parts of weights without a sign keep: of four pixels on an M0, of one row."""
CORES = ["cortex-m4", "cortex-m55", "cortex-m3", "cortex-m0", "rv32imc"]
SAMPLE = [("cortex-m4", "dscnn_kws")]
ALL = [(core, model) for core in CORES for model in MODELS]


@pytest.mark.parametrize(("core", "name"), sampled(SAMPLE, ALL))
def test_slices_are_as_short_as_asked_for_and_cost_little(zoo, tmp_path, core, name):
    whole, _ = emulate(zoo, name, tmp_path / "whole", core, samples=1)
    report, _ = emulate(zoo, name, tmp_path / "slices", core, samples=2, slices=LIMIT)
    run = report.slices
    assert report.bit_exact
    assert run.longest <= LIMIT
    small = core == "cortex-m0"
    assert report.instructions <= (1 + COST) * whole.instructions
    assert whole.ram.arena <= report.ram.arena <= whole.ram.arena + KEPT.get(core, 0)
    assert report.flash.weights == whole.flash.weights
    assert report.ram.stack <= report.ram.stack_bound
    assert report.ram.static == 0
    assert len(run.instructions) == run.plan.count
    # Slices alone are an inference without the begin, and with a step's call for each.
    assert sum(run.instructions) == pytest.approx(report.instructions, rel=0.01)
    estimates = [stage.instructions for stage in run.plan.in_order()]
    ratios = np.array(run.instructions) / estimates
    long = np.array(estimates) > LIMIT / 5
    assert ratios[long].max() < 1.3 + 0.15 * (core == "cortex-m55") + 0.2 * small
    assert ratios[long].min() > 0.35
    assert run.as_dict() | {"limit": LIMIT} == run.as_dict()
    at = run.instructions.index(run.longest)
    assert run.as_dict()["longest"]["ops"] == list(run.plan.in_order()[at].nodes)
    assert run.as_dict()["estimated"] == max(estimates)


def test_this_machine_counts_no_slices(zoo, tmp_path):
    report, _ = emulate(zoo, "autoencoder_ad", tmp_path, "host", samples=2, slices=200_000)
    assert report.bit_exact
    assert report.slices.longest is None
    assert report.slices.longest_ops == report.slices.plan.longest.nodes
    assert report.slices.plan.count > 1


SOURCE = """
#include "pair.h"
#include "autoencoder_ad_int8.h"
#include "dscnn_kws_int8.h"

int pair_invoke(const pair_io_t *io, void *arena) {
    int8_t *const bytes = arena;
    const autoencoder_ad_int8_io_t one = {bytes + PAIR_INPUT_0_OFFSET,
                                          bytes + PAIR_OUTPUT_0_OFFSET};
    const dscnn_kws_int8_io_t two = {bytes + PAIR_INPUT_1_OFFSET, bytes + PAIR_OUTPUT_1_OFFSET};
    autoencoder_ad_int8_slices_t first;
    dscnn_kws_int8_slices_t second;
    int left = 8, right = 8;
    (void)io;
    int status = autoencoder_ad_int8_begin(&first, &one, bytes);
    status += dscnn_kws_int8_begin(&second, &two, bytes + PAIR_SECOND);
    /* The first model is cancelled on its way, and begun again between slices of the second. */
    status += autoencoder_ad_int8_step(&first, 0) - 8;
    status += autoencoder_ad_int8_cancel(&first);
    status += dscnn_kws_int8_step(&second, 0) - 8;
    status += autoencoder_ad_int8_begin(&first, &one, bytes);
    while (status == 0 && (left == 8 || right == 8)) {
        left = left == 8 ? autoencoder_ad_int8_step(&first, 0) : left;
        right = right == 8 ? dscnn_kws_int8_step(&second, 0) : right;
    }
    return status + left + right;
}
"""


@pytest.mark.whole
def test_two_models_take_turns_slice_by_slice(zoo, tmp_path):
    """Each in an arena of its own."""
    folder = tmp_path / "pair"
    models = [
        export_c(
            zoo / "models" / f"{name}.tflite", folder / which, options=ExportOptions(slices=20_000)
        )
        for name, which in ((FIRST, "first"), (SECOND, "second"))
    ]
    start = -(-models[0].arena_bytes // 16) * 16
    end = start + models[1].arena_bytes
    pair = pair_of(folder, models, SOURCE, end, f"#define PAIR_SECOND {start}")
    assert_golden(zoo, pair, tmp_path, 3)
