"""Windows of features less their mean and by their deviation: near their definition, and in C."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import moving
from tests.c.host import ABORT, SANITIZE, core_flags, host_compiler
from tests.cli.calls import call, call_json
from tests.dsp.sounds import sound
from tests.firmware.device import require_core
from tests.graphs import Builder
from tests.listening import BANDS, PIPELINE, ROWS, float_net, int8_net, saved
from tests.sampling import sampled
from tinyrt import api, kernels_c
from tinyrt.attached import fitted
from tinyrt.dsp import LogMel, Pipeline
from tinyrt.dsp.standard import GROUPS, standardized
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.export import find_core
from tinyrt.ops.reshape import ReshapeAttrs

TYPES = (np.uint16, np.int16)
SOUND = np.concatenate([sound("words", 3, 5_000), sound("silence", 0, 800), sound("noise", 1, 900)])
NORMAL = replace(PIPELINE, normalize="window", scale=1 / 128, offset=7)


def a_window(rng):
    """A random one of any size, type and loudness; extremes and constants among them."""
    rows, size = (int(n) for n in rng.integers(1, 40, 2))
    limits = np.iinfo(TYPES[rng.integers(2)])
    match rng.integers(4):
        case 0:
            x = np.full((rows, size), rng.integers(limits.min, limits.max + 1))
        case 1:
            x = rng.choice([limits.min, limits.max], (rows, size))
        case 2:
            x = rng.integers(0, 4, (rows, size)) + rng.integers(0, limits.max - 3)
        case _:
            x = rng.integers(limits.min, limits.max + 1, (rows, size))
    return x.astype(limits.dtype)


def exact(x, group):
    """By definition, in deviations; of what deviates by less than 1, as it is."""
    axis = None if group == "window" else 0
    wide = x.astype(float)
    return (wide - wide.mean(axis, keepdims=True)) / np.maximum(wide.std(axis, keepdims=True), 1)


@pytest.mark.parametrize("group", GROUPS)
def test_near_the_definition(group):
    """The figure of docs/audio.md: half a step, and a 32nd of a feature in 16ths of a deviation."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(sampled(300, 3_000)):
        x = a_window(rng)
        found, want = standardized(x[None], group)[0], 256 * exact(x, group)
        deviation = np.maximum(x.astype(float).std(None if group == "window" else 0), 1)
        allowed = 0.5 + (8 + np.abs(want) / 16) / deviation
        assert (np.abs(found - want.clip(-32_767, 32_767)) <= allowed).all()
        worst = max(worst, np.abs(found - want).max())
    assert worst > 0.5


def test_by_hand():
    x = np.array([[[1, 10], [3, 10], [5, 13]]], np.uint16)
    roots = np.sqrt([8 / 3, 2])
    want = 256 * np.array([[-2, -1], [0, -1], [2, 2]]) / roots
    assert np.abs(standardized(x, "features")[0] - want).max() < 7
    assert standardized(x + 1_000, "features").tolist() == standardized(x, "features").tolist()
    lone = np.zeros((1, 20_000, 1), np.int16)
    lone[0, 0] = 32_767
    assert standardized(lone, "window")[0, 0] == 32_767, "141 deviations"
    assert standardized(-lone, "window")[0, 0] == -32_767


def test_a_hardly_changing_window_stays_quiet():
    x = 500 + np.arange(2_000).reshape(1, 50, 40).astype(np.uint16) % 2
    assert set(standardized(x, "window").ravel()) == {-128, 128}
    assert not standardized(np.full((1, 3, 2), 65_535, np.uint16), "features").any()


def test_windows_are_each_by_itself():
    rng = np.random.default_rng(5)
    x = rng.integers(-9_000, 9_000, (4, 6, 3)).astype(np.int16)
    x[2] //= 100
    for group in GROUPS:
        found = standardized(x, group)
        for window, one in zip(x, found, strict=True):
            np.testing.assert_array_equal(standardized(window[None], group)[0], one)


@pytest.mark.parametrize("core", sampled(["cortex-m55"], ["cortex-m0", "cortex-m55"]))
def test_c_is_the_same(core, tmp_path):
    isa = find_core(core).isa.value
    program, source = tmp_path / "program", Path(__file__).parent / "standard.c"
    kernels = ("tinyrt_standard", "tinyrt_signal_filter_bank_square_root")
    sources = [path for path in kernels_c.closure(kernels, isa) if path.suffix == ".c"]
    folders = [f"-I{folder}" for folder in kernels_c.header_folders(isa)]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O1", *SANITIZE.split()]
    flags += core_flags(find_core(core))
    command = [host_compiler(), *flags, *folders, source, *sources, "-o", program]
    subprocess.run(command, check=True)
    rng = np.random.default_rng(2)
    given = [(a_window(rng), GROUPS[i % 2]) for i in range(sampled(300, 20_000))]
    # The most that there can be, and the largest squares.
    loud = np.resize(np.array([0, 65_535], np.uint16), (1 << 12, 256))
    given += [(loud, group) for group in GROUPS]
    data = b"".join(
        np.array(
            [*x.shape, x.shape[1] if group == "features" else 1, 0x8000 * (x.dtype == np.int16)],
            "<i4",
        ).tobytes()
        + x.tobytes()
        for x, group in given
    )
    done = subprocess.run(
        [program], input=data, capture_output=True, check=True, env=os.environ | ABORT
    )
    want = [standardized(x[None], group).astype("<i4").tobytes() for x, group in given]
    assert done.stdout == b"".join(want)


def of_motion():
    scales = tuple(0.01 for _ in range(moving.PIPELINE.row))
    more = {"normalize": "features", "scale": scales, "offset": -5}
    return moving.int8_net(), replace(moving.PIPELINE, **more)


FORMS = {
    "window": lambda: (int8_net(), NORMAL),
    "features": lambda: (int8_net(), replace(NORMAL, normalize="features")),
    "floats": lambda: (float_net(), replace(NORMAL, detector=None)),
    "side by side": lambda: (int8_net(), replace(NORMAL, stride=None)),
    "cepstra": lambda: (
        int8_net(),
        replace(NORMAL, log_mel=replace(NORMAL.log_mel, bands=14, coefficients=BANDS)),
    ),
}


@pytest.mark.device
@pytest.mark.parametrize("form", sampled(["features", "cepstra"], [*FORMS]))
@pytest.mark.parametrize(
    "core", sampled(["host"], ["host", "cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"])
)
def test_devices_normalize_the_same(form, core, tmp_path):
    require_core(core)
    path = saved(tmp_path / "ears.tflite", *FORMS[form]())
    found = api.emulate_recording(path, SOUND, core=core)
    assert found.bit_exact or (form == "floats" and found.float_error < 1e-6)
    assert found.ram.state >= 2 * ROWS * BANDS + ROWS * BANDS
    assert found.samples > 20


@pytest.mark.whole
@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["host", "cortex-m0", "rv32imc"]))
def test_motion_too(core, tmp_path):
    require_core(core)
    path = saved(tmp_path / "arm.tflite", *of_motion())
    assert api.emulate_recording(path, moving.moving("walk", 2, 900), core=core).bit_exact


def test_a_window_is_normalized_before_it_is_stored(tmp_path):
    pipeline = replace(NORMAL, detector=None)
    path = saved(tmp_path / "ears.tflite", float_net(), pipeline)
    heard = api.listen_model(path, SOUND)
    rows = pipeline.stream().push(SOUND)
    windows = np.stack([rows[at : at + ROWS] for at in range(0, len(rows) - ROWS + 1, 3)])
    fit = fitted(pipeline, float_net())
    x = (standardized(windows, "window") - 7.0).astype(np.float32) / 128
    np.testing.assert_allclose(fit.windows(rows, len(windows)), x, rtol=1e-6)
    api.attach_front_end(path, None, tmp_path / "bare.tflite")
    (want,) = api.run_model(tmp_path / "bare.tflite", x).values()
    (found,) = heard.outputs.values()
    np.testing.assert_allclose(found, want.reshape(found.shape), rtol=1e-5)


def test_what_commands_say(tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net(), replace(NORMAL, normalize="features"))
    assert call_json("inspect", path)["front_end"]["normalize"] == "features"
    lines = [" ".join(line.split()) for line in call("inspect", path).stdout.splitlines()]
    assert "normal 256ths of deviations of each feature in a window" in lines
    saved(path, int8_net(), NORMAL)
    lines = [" ".join(line.split()) for line in call("inspect", path).stdout.splitlines()]
    assert "normal 256ths of deviations of all features in a window" in lines


def test_options():
    assert Pipeline.from_json(NORMAL.to_json()) == NORMAL
    assert Pipeline.from_dict({"normalize": "window", "offset": -32_768}).offset == -32_768
    with pytest.raises(DataError, match="the option normalize is 'clip'") as caught:
        Pipeline(normalize="clip")
    assert caught.value.expected == "window or features, or none"
    with pytest.raises(DataError, match="the option offset is 40000"):
        Pipeline(normalize="window", offset=40_000)


def test_too_large_a_window_is_refused():
    for size, fits in ((1 << 12, True), ((1 << 12) + 1, False)):
        b = Builder((1, size, 256))
        graph = b.graph(b.op("reshape", ("x",), ReshapeAttrs((1, size * 256))))
        pipeline = Pipeline(LogMel(bands=256, fft=4_096), normalize="window")
        if fits:
            assert fitted(pipeline, graph).rows == size
            continue
        with pytest.raises(UnsupportedError, match="a window has 1,048,832 features") as caught:
            fitted(pipeline, graph)
        assert caught.value.hint == "leave normalize out, or train with shorter windows"
