"""Models that take samples, on emulated cores and on this machine: the host's answers."""

from dataclasses import replace

import numpy as np
import pytest

from tests.cli.calls import call_json
from tests.dsp.sounds import mixed, recordings
from tests.firmware.device import require_core
from tests.listening import BANDS, PIPELINE, ROWS, float_net, int8_net, saved, wav
from tests.sampling import sampled
from tinyrt import api
from tinyrt.dsp import Detector, LogMel
from tinyrt.emulate.cycles import Timing
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, Memories
from tinyrt.export.identity import sha256_of
from tinyrt.memory import Region
from tinyrt.quantize import QuantConfig
from tinyrt.quantize.config import Scheme

pytestmark = pytest.mark.device

SAMPLES = np.concatenate([mixed(6, 2_500), mixed(0, 1_500), mixed(5, 900)])

CORES = ("cortex-m4", "cortex-m55", "cortex-m0", "rv32imc")


@pytest.mark.whole
@pytest.mark.parametrize("core", [*CORES, "host"])
def test_answers_are_those_of_the_host(core, tmp_path):
    require_core(core)
    path = saved(tmp_path / "ears.tflite", int8_net())
    found = api.emulate_recording(path, SAMPLES, core=core, build_dir=tmp_path / "kept")
    assert found.bit_exact
    headers = [header.read_text() for header in (tmp_path / "kept" / "model").glob("*.h")]
    assert f'_MODEL_SHA256 "{sha256_of(path)}"' in "".join(headers)
    heard = api.listen_model(path, SAMPLES)
    assert found.samples == len(heard.samples)
    np.testing.assert_array_equal(*(next(iter(x.values())) for x in (found.outputs, heard.raw)))
    assert len(np.unique(heard.detected)) > 1


def windows_side_by_side():
    return int8_net(), replace(PIPELINE, stride=None)


def by_one_row():
    return int8_net(), replace(PIPELINE, stride=1, detector=None)


def in_floats():
    return float_net(), replace(PIPELINE, detector=None)


def in_int16():
    config = QuantConfig(scheme=Scheme.INT16X8)
    return int8_net(config=config), replace(PIPELINE, detector=None, offset=0)


def a_single_row():
    front = LogMel(window=300, step=200, fft=320, bands=BANDS, log_shift=None, lower_hz=50)
    decider = Detector(3, window=1, threshold=-128, hold=0)
    net = int8_net((1, BANDS))
    return net, replace(PIPELINE, log_mel=front, scale=0.001, stride=None, detector=decider)


def cepstra_each_on_its_own_scale():
    front = LogMel(window=120, step=50, bands=14, lower_hz=100, upper_hz=7_000, coefficients=BANDS)
    scales, offsets = tuple(0.01 + 0.003 * i for i in range(BANDS)), (1_100, *range(1 - BANDS, 0))
    return int8_net(), replace(PIPELINE, log_mel=front, scale=scales, offset=offsets)


def cepstra_in_floats():
    _, pipeline = cepstra_each_on_its_own_scale()
    return float_net(), replace(pipeline, detector=None)


FLOATS = [in_floats, cepstra_in_floats]
FORMS = [windows_side_by_side, by_one_row, in_int16, a_single_row, *FLOATS]
FORMS.append(cepstra_each_on_its_own_scale)


@pytest.mark.parametrize("form", sampled([cepstra_each_on_its_own_scale], FORMS))
@pytest.mark.parametrize("core", sampled(["host"], ["host", *CORES]))
def test_other_front_ends(form, core, tmp_path):
    require_core(core)
    path = saved(tmp_path / "ears.tflite", *form())
    found = api.emulate_recording(path, SAMPLES, core=core)
    assert found.bit_exact or (form in FLOATS and found.float_error < 1e-6)


def test_memory_in_several_regions_and_outputs_outside(tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net())
    regions = (Region("fast", 4_000), Region("slow"))
    several = Memories(regions)
    others = [Memories(regions, outputs_in_arena=False), Memories(outputs_in_arena=False)]
    for memories in sampled([several], [several, *others]):
        assert api.emulate_recording(
            path, SAMPLES, core="host", options=ExportOptions(memories=memories)
        ).bit_exact


def test_work_in_an_arena_that_is_large_enough(tmp_path):
    """Features are computed where the network computes; else in the state."""
    wide = saved(tmp_path / "wide.tflite", *wide_net())
    small = saved(tmp_path / "small.tflite", int8_net())
    (tmp_path / "a.wav").write_bytes(wav(SAMPLES))
    states = []
    for path in (wide, small):
        found = api.emulate_recording(path, tmp_path / "a.wav", core="host")
        assert found.bit_exact
        states.append(found.ram.state)
    assert states[1] > states[0]


def wide_net():
    """A layer whose result is larger than what a frame needs for work."""
    from tests.graphs import Builder
    from tinyrt.ops.fully_connected import FullyConnectedAttrs
    from tinyrt.ops.reshape import ReshapeAttrs
    from tinyrt.quantize import quantize_graph

    rng = np.random.default_rng(0)
    b = Builder((1, ROWS, BANDS))
    y = b.op("reshape", ("x",), ReshapeAttrs((1, ROWS * BANDS)))
    for size, count in ((ROWS * BANDS, 1_500), (1_500, 3)):
        parts = (rng.normal(size=(count, size)), rng.normal(size=count))
        weights = [b.constant(array.astype(np.float32)) for array in parts]
        y = b.op("fully_connected", (y, *weights), FullyConnectedAttrs())
    x = rng.uniform(-6, 8, (20, ROWS, BANDS)).astype(np.float32)
    return quantize_graph(b.graph(y), x, QuantConfig()), PIPELINE


@pytest.mark.whole
@pytest.mark.parametrize("core", ["host", *CORES])
def test_recordings(core, tmp_path):
    sounds = [x for x in recordings() if len(x) > 1_000]
    if not sounds:
        pytest.skip("Python's own tests are not installed")
    path = saved(tmp_path / "ears.tflite", int8_net())
    joined = np.concatenate([sound[:1_500] for sound in sounds])
    assert api.emulate_recording(path, joined, core=core).bit_exact


@pytest.mark.whole
@pytest.mark.slow
def test_a_model_that_keeps_state(zoo, tmp_path):
    (first, *_) = sorted((zoo / "models" / "public").glob("micro-wake-word-models__alexa*.tflite"))
    pipeline = replace(PIPELINE, log_mel=LogMel(), scale=1 / 25.6, offset=0, stride=None)
    api.attach_front_end(first, replace(pipeline, detector=None), tmp_path / "alexa.tflite")
    sound = np.concatenate([mixed(6, 12_000), mixed(0, 6_000)])
    for core in sampled(["cortex-m55"], CORES):
        found = api.emulate_recording(tmp_path / "alexa.tflite", sound, core=core)
        assert found.bit_exact
        assert found.samples > 30


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
def test_cycles_from_one_answer_to_the_next(core, tmp_path):
    """They are those of the instructions that are counted: at least one each, and some more."""
    require_core(core)
    path = saved(tmp_path / "ears.tflite", int8_net())
    (tmp_path / "a.wav").write_bytes(wav(SAMPLES))
    plain = api.emulate_recording(path, SAMPLES, core=core)
    found = api.emulate_recording(path, SAMPLES, core=core, cycles=Timing(clock_hz=80e6))
    assert found.bit_exact
    assert plain.cycles is None
    assert found.instructions == plain.instructions
    cycles = found.cycles.cycles
    assert 0.45 * found.instructions < cycles.low <= cycles.high < 2.7 * found.instructions
    low, high = found.cycles.milliseconds
    assert (low, high) == pytest.approx((cycles.low / 80e3, cycles.high / 80e3))
    command = ("emulate", path, "--recording", tmp_path / "a.wav", "--core", core, "--cycles")
    told = call_json(*command, "--clock", "80MHz")
    assert told["cycles"] == {"low": cycles.low, "high": cycles.high}
    assert told["milliseconds"] == {"low": low, "high": high}


def test_cycles_are_not_of_this_machine(tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net())
    with pytest.raises(UnsupportedError, match="cycles are told of emulated cores"):
        api.emulate_recording(path, SAMPLES, core="host", cycles=Timing())
