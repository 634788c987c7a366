"""Models that take samples or frames: what an emulation hands on, refuses, and finds to differ."""

from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests import listening, moving, seeing
from tests.emulate.test_reports import report
from tests.export.models import dense
from tests.listening import FRONT, PIPELINE, ROWS, saved
from tests.seeing import COLOURS, GREY, frames_of
from tinyrt import api
from tinyrt.attached import fitted
from tinyrt.emulate import audio, camera, fed
from tinyrt.emulate.audio import Expected, emulate_samples, pieces_of
from tinyrt.emulate.camera import SeenByHost, emulate_frames
from tinyrt.emulate.cycles import Timing
from tinyrt.emulate.qemu import Run
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.export import ExportOptions

SAMPLES = np.random.default_rng(5).normal(0, 3_000, 1_500).astype(np.int16)
FRAMES = frames_of(GREY, 5)
MOTION = moving.moving("walk", 0, 200)
UNHEARD = Expected({}, np.zeros(0), None)
NOTHING = {"samples": UNHEARD, "motion": UNHEARD, "frames": SeenByHost({}, None)}
CALLS = {
    "samples": (emulate_samples, SAMPLES, PIPELINE, audio.OPTIONS),
    "motion": (emulate_samples, MOTION, moving.PIPELINE, audio.OPTIONS),
    "frames": (emulate_frames, FRAMES, GREY, camera.OPTIONS),
}
NUMBERS = {"samples": 3 * 50, "motion": 20 * 3, "frames": 15 * 22 * 2}
"""Of a record: samples of each axis from one answer to the next, or bytes of a frame."""
DEFAULTS = {
    **{"core": "cortex-m4", "optimize": "balanced", "options": ExportOptions()},
    **{"board": None, "cycles": None, "timeout_s": 300.0},
}
GIVEN = {
    **{"core": "cortex-m55", "optimize": "size", "options": ExportOptions(by_rows=True)},
    **{"board": "mps3-an547", "cycles": Timing(clock_hz=1e6), "timeout_s": 7.5},
}


class EnoughError(Exception):
    """The image would run now."""


@pytest.fixture
def asked(monkeypatch):
    """What was asked of those that export, choose a board, tell cycles and run."""
    found = SimpleNamespace()

    def board_for(core, board):
        found.core, found.board = core.name, board
        return "the board"

    def meter_of(core, board, cycles):
        assert (core.name, board) == (found.core, "the board")
        found.cycles = cycles

    def run_image(image, data, folder, *, timeout_s):
        found.timeout_s = timeout_s
        raise EnoughError

    def export_graph(graph, folder, **options):
        assert options["core"] == found.core
        found.optimize, found.options = options["optimize"], options["options"]
        return SimpleNamespace(front_end=options["front_end"])

    for one in (board_for, meter_of, run_image, export_graph):
        monkeypatch.setattr(fed, one.__name__, one)
    monkeypatch.setattr(fed, "build_image", lambda project, *_, **to: found.__setattr__("to", to))
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of each kind, that of samples also in floats."""
    folder = tmp_path_factory.mktemp("models")
    made = {
        "samples": saved(folder / "ears.tflite", listening.int8_net()),
        "motion": saved(folder / "arm.tflite", moving.int8_net(), moving.PIPELINE),
        "frames": saved(folder / "eyes.tflite", seeing.int8_net(), GREY),
    }
    alone = replace(PIPELINE, detector=None)
    return made | {"floats": saved(folder / "float.tflite", listening.float_net(), alone)}


@pytest.mark.parametrize("option", GIVEN)
@pytest.mark.parametrize("kind", CALLS)
def test_each_option_reaches_what_does_the_work(kind, option, asked, models, tmp_path):
    """On its own: the others are as documented."""
    emulate, data, front_end, _ = CALLS[kind]
    given = {option: GIVEN[option]}
    with pytest.raises(EnoughError):
        emulate(models[kind], data, front_end, NOTHING[kind], build_dir=tmp_path, **given)
    assert {name: getattr(asked, name) for name in DEFAULTS} == DEFAULTS | given
    assert asked.to == {"board": "the board", "samples": NUMBERS[kind]}


OTHERS = {
    **{"max_arena": 9_000, "by_rows": True, "input_rows": True, "name": "ears", "prefix": "p"},
    **{"info": True, "unaligned": False, "slices": 5_000, "blob": True, "layout": "arduino"},
    **{"selftest": 1, "board": True, "input_type": "int8", "output_type": "int8"},
}


@pytest.mark.parametrize("kind", CALLS)
def test_options_that_would_reach_nothing_are_refused(kind, asked, models, tmp_path):
    emulate, data, front_end, allowed = CALLS[kind]
    assert {field.name for field in fields(ExportOptions)} == {*OTHERS, "memories"}
    for name, value in OTHERS.items():
        options = ExportOptions(**{name: value})
        wanted = (EnoughError, None) if name in allowed else (UnsupportedError, f"option '{name}'")
        to = {"build_dir": tmp_path, "options": options}
        with pytest.raises(wanted[0], match=wanted[1]):
            emulate(models[kind], data, front_end, NOTHING[kind], **to)


def expected_of(path, samples=SAMPLES):
    """What the host answers to the recording."""
    heard = api.listen_model(path, samples)
    return Expected(heard.raw, heard.samples, heard.detected)


SPOILT = {
    "nothing": lambda e: e,
    "when": lambda e: replace(e, samples=e.samples + 1),
    "what is detected": lambda e: replace(e, detected=np.roll(e.detected, 1)),
    "an output": lambda e: replace(e, raw={n: a ^ (a == a.max()) for n, a in e.raw.items()}),
}


@pytest.fixture
def run_once(monkeypatch):
    """Whatever runs is built and run once; its cycles are told, too."""
    run, kept = fed.Fed.run, []

    def once(*arguments, **options):
        if not kept:
            kept[:] = run(*arguments, **options)[:2]
        return (*kept, "cycles")

    monkeypatch.setattr(fed.Fed, "run", once)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["samples", "floats"])
def test_whatever_differs_from_the_host_is_told(kind, models, run_once, tmp_path):
    """One program of this machine, and hosts that answer something else; floats are near only.

    Records without an answer stand between those with one, and count for nothing.
    """
    path = models[kind]
    pipeline = PIPELINE if kind == "samples" else replace(PIPELINE, detector=None)
    right = expected_of(path)
    for what, spoil in SPOILT.items():
        if kind == "floats" and what not in ("nothing", "when"):
            continue
        to = {"build_dir": tmp_path, "core": "host"}
        found = emulate_samples(path, SAMPLES, pipeline, spoil(right), **to)
        assert found.agrees == (what == "nothing"), what
        assert found.samples == len(right.samples)
        for name, array in found.outputs.items():
            assert np.allclose(array, right.raw[name], atol=1e-4)
        # Answers of other times are not compared.
        told = {"an output": np.inf, "nothing": None if kind == "samples" else 0}.get(what)
        assert found.float_error == (told if told is None else pytest.approx(told, abs=1e-5))
        assert found.ram.state > 0
        assert found.cycles == "cycles"
        assert found.instructions_per_mac is None


@pytest.mark.slow
@pytest.mark.parametrize("vision", [GREY, COLOURS], ids=["boxes", "scores"])
def test_frames_that_are_seen_otherwise_are_noticed(vision, run_once, tmp_path):
    path = saved(tmp_path / "eyes.tflite", seeing.int8_net(vision.camera.channels), vision)
    frames = frames_of(vision, 9)
    seen = api.look_model(path, frames)
    other = {n: np.roll(a, 1, axis=0) for n, a in seen.raw.items()}
    spoilt = [(seen.raw, seen.boxes, True), (other, seen.boxes, False)]
    if vision.boxes is not None:
        spoilt.append((seen.raw, (*seen.boxes[1:], seen.boxes[0]), False))
    for raw, boxes, same in spoilt:
        expected = SeenByHost(raw, boxes)
        found = emulate_frames(path, frames, vision, expected, build_dir=tmp_path, core="host")
        assert found.bit_exact == same
        assert (found.samples, found.cycles) == (9, "cycles")
        assert found.ram.state > 4 * vision.camera.row_size
        for name, array in found.outputs.items():
            np.testing.assert_array_equal(array, seen.raw[name])


def test_cycles_are_told_of_the_run_that_was_counted(monkeypatch):
    run, asked = Run(b"", 640, None, 8), []
    image = SimpleNamespace(path="image")
    monkeypatch.setattr(fed, "build_image", lambda *a, **k: asked.append((a, k)) or image)
    monkeypatch.setattr(fed, "run_image", lambda *a, **k: asked.append((a, k)) or run)
    meter = SimpleNamespace(
        listing=lambda *a: ("listing", *a),
        options=lambda *a: ["options", *a],
        of_inference=lambda *a: a,
    )
    made = fed.Fed(graph=None, project="p", board="board", build=Path("b"), meter=meter)
    listing, marks = ("listing", "image"), ("harness_call", "harness_clock_stop")
    assert made.run(7, b"data", timeout_s=5.0) == (image, run, (listing, Path("b"), 640, 4))
    assert asked == [
        (("p", Path("b")), {"board": "board", "samples": 7}),
        (
            (image, b"data", Path("b")),
            {"timeout_s": 5.0, "options": ["options", listing, marks, Path("b")]},
        ),
    ]


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        ([[1, 1, 5, 0], [1, 0, 7, 9]], {}),
        ([[1, 2, 5, 0], [1, 0, 7, 9]], {}),
        ([[1, 1, 5, 0], [1, 0, 9, 7]], {"sums": False}),
        ([[1, 0, 5, 0], [1, 1, 7, 9]], {"alarms": False}),
    ],
)
def test_an_alarm_and_the_error_behind_it_are_those_of_the_host(words, changed):
    """An error has two words, the lower one first."""
    alarms, sums = np.array([True, False]), np.array([5, 9 << 32 | 7], np.uint64)
    expected = Expected({}, np.array([1, 2]), None, alarms, sums)
    assert expected.decided(np.array(words, np.int32)) == all(changed.values())
    assert Expected({}, np.array([1, 2]), None).decided(np.array(words, np.int32))


@pytest.mark.parametrize("window", [120, 100])
def test_pieces_end_with_answers(window):
    """The first answer ends within a piece, or with one: then none is empty."""
    front = replace(FRONT, window=window)
    for stride in (1, 2, 4):
        fit = fitted(replace(PIPELINE, log_mel=front, stride=stride), listening.int8_net())
        first, chunk = window + front.step * (ROWS - 1), stride * front.step
        for samples in range(first, first + 3 * chunk):
            counts = pieces_of(fit, samples)
            ends = np.cumsum(counts).tolist()
            assert (counts[0], ends[-1], max(counts)) == (chunk, samples, chunk)
            assert min(counts) > 0
            assert {*range(first, samples + 1, chunk)} <= {*ends}
        with pytest.raises(DataError, match=f"the recording has {first - 1} samples"):
            pieces_of(fit, first - 1)


@pytest.mark.parametrize(
    ("is_same", "hides_error", "exact", "error"),
    [
        (True, True, True, 0.5),
        (False, True, False, None),
        (False, False, False, 0.5),
        (True, False, True, 0.5),
    ],
)
def test_outputs_that_came_at_another_time_are_not_compared(is_same, hides_error, exact, error):
    """And what is heard or seen differs where decisions do, whatever the outputs say."""
    made = fed.Fed(dense(), project=None, board=None, build=Path(), meter=None)
    same = report(bit_exact=True)
    told = made.told(same, state=48, is_same=is_same, hides_error=hides_error)
    assert (told.bit_exact, told.float_error) == (exact, error)
    assert told.ram == replace(same.ram, state=48)
    assert told.instructions_per_mac is None
    differs = made.told(report(bit_exact=False), state=48, is_same=True)
    assert differs.bit_exact is False
