"""TFLM's audio front end on emulated cores: the host's answers, run after run."""

from functools import partial

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.convert.front_end import front_end, sounds, streams
from tests.firmware.device import check_on_device, require_core
from tests.ops.build import build_f32
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt import api
from tinyrt.ir import DType


def runs_alike(data, inputs, core, folder):
    """The report of a model on a core, whose answers are the host's."""
    require_core(core)
    path = folder / "model.tflite"
    path.write_bytes(data)
    report = api.run_emulated(path, core=core, inputs=inputs, build_dir=folder)
    assert report.bit_exact
    return report


CORES = ("cortex-m55", "cortex-m0", "cortex-m4", "rv32imc")
ON_INTEGERS = (
    "energy",
    "fft_auto_scale",
    "filter_bank",
    "filter_bank_log",
    "filter_bank_square_root",
)
ON_INTEGERS += ("filter_bank_spectral_subtraction", "irfft", "pcan", "rfft", "window")


def integer_case(op, rng):
    """A random case of the op; of transforms, one on integers."""
    while DType.FLOAT32 in (case := CASES[op](rng)).input_dtypes:
        pass
    return case


@pytest.mark.whole
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_each_op_on_many_integers(tmp_path, core, part):
    """16 cases of each in an image: more of them would fill its stack."""
    cases = {f"signal_{op}": partial(integer_case, f"signal_{op}") for op in ON_INTEGERS}
    graph, feeds = graph_of(cases, range(16 * part, 16 * (part + 1)), build_f32)
    check_on_device(graph, feeds, tmp_path, core)


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_a_front_end_makes_the_features_that_the_host_makes(tmp_path, core):
    report = runs_alike(front_end(), {"x": sounds(6)[:, 0]}, core, tmp_path)
    assert report.ram.state == 24  # an estimate of noise for each channel
    assert report.ram.static == 0


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0"])
def test_samples_are_kept_from_run_to_run(tmp_path, core):
    rng = np.random.default_rng(3)
    frames = rng.integers(-(2**15), 2**15, (6, 2, 6), np.int16)
    features = rng.integers(-(2**15), 2**15, (6 * 3,), np.int16)
    runs_alike(streams(), {"x": frames, "f": features}, core, tmp_path)
