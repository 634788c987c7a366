"""Memory, constants and kernels of front ends in C, beside figures that are added up here."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests import listening, moving, seeing
from tests.dsp.test_anomaly import PIPELINE as ALARM
from tests.dsp.test_anomaly import autoencoder
from tests.listening import BANDS, PIPELINE, ROWS
from tinyrt.attached import fitted
from tinyrt.dsp import LogMel
from tinyrt.dsp.tables import tables_of
from tinyrt.export import audio, camera, export_c, export_front_end, front_end
from tinyrt.export.front_code import front_code

CEPSTRA = LogMel(window=120, step=50, bands=14, lower_hz=100, upper_hz=7_000, coefficients=BANDS)
WINDOWS = replace(PIPELINE, log_mel=CEPSTRA, normalize="window", detector=None)
FEATURES = replace(PIPELINE, normalize="features")
PEAKS = replace(moving.FRONT, edges=tuple(range(0, 39, 3)), peaks=8)
CASES = {
    "sound": (PIPELINE, listening.int8_net, [4, 4 + 4 * BANDS + 240, 0, ROWS * BANDS, 12, 32]),
    "windows": (WINDOWS, listening.int8_net, [4, 4 + 4 * 14 + 240, 72, ROWS * BANDS, 12, 0]),
    "motion": (ALARM, autoencoder, [4, 4 + 2 * 3 * 50, 0, moving.FRONT.features, 12, 4]),
}
"""A front end, its model, and bytes: count, samples, raw rows, rows, states of 12, what decides."""
WORK = {
    "sound": 2 * 264 + 6 * BANDS,  # two spectra of 65 complex numbers; a row as words and features
    "windows": 2 * 264 + 32 + 12 * BANDS,  # and 14 logarithms, and sums of a window
    "motion": 2 * 136 + 6 * moving.FRONT.features,
}


def aligned(nbytes):
    return -(-nbytes // 8) * 8


def places_of(case, arena_bytes, regions=1):
    pipeline, net, _ = CASES[case]
    plan = SimpleNamespace(regions=[None] * regions, arena_bytes=arena_bytes)
    made = front_code(pipeline.front)
    return audio._places(fitted(pipeline, net()), made, plan, SimpleNamespace(nbytes=12))


@pytest.mark.parametrize("case", CASES)
def test_parts_of_a_state_lie_one_behind_the_other(case):
    ends = [0]
    for nbytes in CASES[case][2]:
        ends.append(ends[-1] + aligned(nbytes))
    _, ears, raw, rows, model, detector, end = ends
    if case != "windows":
        raw = None
    assert places_of(case, 1 << 20) == audio._Places(ears, raw, rows, model, detector, None, end)


@pytest.mark.parametrize("case", CASES)
def test_work_lies_in_an_arena_of_one_region_that_is_large_enough(case):
    work = aligned(WORK[case])
    within = places_of(case, work)
    assert within.work is None
    for others in ({"arena_bytes": work - 1}, {"arena_bytes": work, "regions": 2}):
        beside = places_of(case, **others)
        assert beside == replace(within, work=within.nbytes, nbytes=within.nbytes + work)


@pytest.mark.parametrize(
    ("pipeline", "groups", "flip"),
    [
        (FEATURES, BANDS, 0),
        (WINDOWS, 1, 0x8000),
        (replace(FEATURES, normalize="window"), 1, 0),
        (replace(WINDOWS, normalize="features"), BANDS, 0x8000),
    ],
)
def test_windows_are_normalised_as_one_or_by_feature(pipeline, groups, flip):
    """Cepstra have a sign, which is flipped."""
    fields = audio._standard_fields(fitted(pipeline, listening.int8_net()))
    assert fields == {"rows": ROWS, "size": BANDS, "groups": groups, "flip": flip}


def test_memory_for_work_holds_whatever_is_largest():
    """A half holds a spectrum, three rows of bands, or bands and peaks in 64 bits."""
    many = replace(CEPSTRA, bands=40, coefficients=None)
    assert front_code(many).work_bytes == 2 * 40 * 12
    assert front_code(replace(many, coefficients=12)).work_bytes == 2 * 40 * 12 + 80
    assert front_code(moving.FRONT).work_bytes == 2 * aligned(4 * 33)
    assert front_code(PEAKS).work_bytes == 2 * 8 * (12 + 8)
    assert audio._logarithms(many) is audio._logarithms(PEAKS) is None
    assert audio._logarithms(replace(many, coefficients=12)) == 2 * 40 * 12


LEAST = LogMel(window=64, step=32, bands=6, pcan=None, noise_reduction=None, log_shift=None)


@pytest.mark.parametrize(("front", "is_whole"), [(CEPSTRA, True), (LEAST, False)])
def test_a_front_end_has_the_constants_that_it_needs(front, is_whole, tmp_path):
    project = export_front_end(front, tmp_path / "c", name="ears", core="host")
    code = (tmp_path / "c" / "ears.c").read_text()
    header = (tmp_path / "c" / "ears.h").read_text()
    arrays = dict(re.findall(r"static const int16_t (\w+)\[(\d+)\]", code))
    assert {"gains", "cosines"} & {*arrays} == ({"gains", "cosines"} if is_whole else set())
    assert project.table_bytes == 2 * sum(map(int, arrays.values()))
    assert (".gains = gains" in code, ".gains = NULL" in code) == (is_whole, not is_whole)
    assert f".log_scale = {1 << front.log_shift if is_whole else 0}," in code
    assert (".noise = {" in code) is is_whole
    assert any("tinyrt_cepstra" in name for name in project.files) is is_whole
    assert ("cepstral coefficients" in header) is is_whole
    assert ("log-mel features" in header) is not is_whole
    element = "int16_t" if is_whole else "uint16_t"
    assert f"typedef {element} ears_feature_t;" in header


@pytest.mark.parametrize(("log_shift", "scale"), [(None, 0), (0, 1), (6, 64)])
def test_logarithms_of_whole_numbers_are_logarithms(log_shift, scale):
    front = replace(LEAST, log_shift=log_shift)
    assert front_end.fields_of(front, tables_of(front))["log_scale"] == scale


@pytest.mark.parametrize("case", ["motion", "sound"])
def test_an_alarm_s_numbers_are_the_host_s(case, tmp_path):
    pipeline, net, _ = CASES[case]
    path = listening.saved(tmp_path / "net.tflite", net(), pipeline)
    project = export_c(path, tmp_path / "c", core="host")
    text = "".join(each.read_text() for each in (tmp_path / "c").glob("net_s*.[ch]"))
    text += "".join(each.read_text() for each in (tmp_path / "c").glob("net_audio.[ch]"))
    anomaly = fitted(pipeline, net()).anomaly
    assert ("tinyrt_anomaly_s8" in project.kernels) is (case == "motion")
    assert ("tinyrt_detector_s8" in project.kernels) is (case == "sound")
    if anomaly is None:
        assert "UINT64_C" not in text
    else:
        assert f"UINT64_C({anomaly.limit})" in text
        assert repr(anomaly.scale) in text


@pytest.mark.parametrize("is_pushed", [False, True])
@pytest.mark.parametrize("vision", [seeing.GREY, seeing.COLOURS], ids=["boxes", "scores"])
def test_parts_of_a_camera_s_state_lie_one_behind_the_other(vision, is_pushed):
    row = vision.camera.row_size
    boxes = [4 * 16, 12 * 4] if vision.boxes else [0, 0]
    ends = [0]
    for nbytes in (12 + 4 * row, row if is_pushed else 0, *boxes, 12):
        ends.append(ends[-1] + aligned(nbytes))
    states = SimpleNamespace(nbytes=12)
    found = camera._places(vision.camera, vision.boxes, states, is_pushed=is_pushed)
    assert found == camera._Places(*ends[1:])
