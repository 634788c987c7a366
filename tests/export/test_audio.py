"""Projects of models that take samples: pieces of any size, misuse, what is said and refused."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import ABORT, host_compiler
from tests.dsp.sounds import mixed
from tests.export.program import build_program
from tests.listening import BANDS, CLASSES, FRONT, PIPELINE, ROWS, int8_net, saved
from tinyrt import api
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, export_c, export_several

SAMPLES = np.concatenate([mixed(6, 2_500), mixed(0, 1_500), mixed(5, 900), mixed(2, 800)])
RESET, MISUSE = -1, -2
ANSWER = np.dtype([("samples", "<i4"), ("detected", "<i4"), ("scores", "i1", CLASSES)])
STATUSES = [5, 7, 5, 7, 6, 1, 2, 4, 4, 4]
"""Of ``audio.c``: null and misaligned states, no io, no arena, a misaligned one, no tensors."""


@pytest.fixture(scope="module")
def ears(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("ears") / "ears.tflite", int8_net())


@pytest.fixture(scope="module")
def program(ears, tmp_path_factory):
    """``audio.c`` with sanitizers: the arena and the state are as large as the header says."""
    folder = tmp_path_factory.mktemp("program")
    project = export_c(ears, folder / "project", core="host")
    return build_program(project, Path(__file__).parent / "audio.c", folder)


def run(program, pieces):
    parts = []
    for piece in pieces:
        count = piece if isinstance(piece, int) else len(piece)
        parts += [np.int32(count).tobytes(), b"" if isinstance(piece, int) else piece.tobytes()]
    done = subprocess.run(
        [program], input=b"".join(parts), capture_output=True, check=False, env=os.environ | ABORT
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def check(found, heard):
    np.testing.assert_array_equal(found["samples"], heard.samples)
    np.testing.assert_array_equal(found["detected"], heard.detected)
    np.testing.assert_array_equal(found["scores"], next(iter(heard.raw.values())))


@pytest.mark.slow
def test_pieces_of_any_size_give_the_answers_of_the_host(ears, program):
    heard = api.listen_model(ears, SAMPLES)
    rng = np.random.default_rng(0)
    pieces, answers = [], 3 * len(heard.samples)
    for most in (len(SAMPLES), 700, 9):
        pieces.append(RESET)
        ends = np.cumsum(rng.integers(0, most + 1, 2 * len(SAMPLES) // most + 2))
        pieces += np.split(SAMPLES, np.minimum(ends, len(SAMPLES)))
    found = np.frombuffer(run(program, pieces), ANSWER)
    assert len(found) == answers
    for part in np.split(found, 3):
        check(part, heard)


@pytest.mark.slow
def test_misuse_does_nothing(ears, program):
    half = len(SAMPLES) // 2
    raw = run(program, [SAMPLES[:half], MISUSE, SAMPLES[half:]])
    heard = api.listen_model(ears, SAMPLES)
    before = ANSWER.itemsize * int((heard.samples <= half).sum())
    told = np.frombuffer(raw[before : before + 40], "<i4")
    assert told.tolist() == STATUSES
    found = np.frombuffer(raw[:before] + raw[before + 40 :], ANSWER)
    np.testing.assert_array_equal(found["scores"], next(iter(heard.raw.values())))
    np.testing.assert_array_equal(found["detected"], heard.detected)


def macros(folder, name="ears"):
    text = "".join(path.read_text() for path in sorted(folder.glob(f"{name}*.h")))
    return dict(re.findall(r"^#define (\w+) (\S+)$", text, re.MULTILINE))


def test_what_a_project_says(ears, tmp_path):
    project = export_c(ears, tmp_path / "c", core="cortex-m4")
    said = macros(tmp_path / "c")
    assert said["EARS_SAMPLE_RATE"] == "16000"
    assert int(said["EARS_FIRST_SAMPLES"]) == FRONT.window + FRONT.step * (ROWS - 1)
    assert int(said["EARS_STRIDE_SAMPLES"]) == FRONT.step * PIPELINE.stride
    assert "EARS_INPUT_0_OFFSET" not in said
    # The count of rows, the front end's state, the window, the detector's, and work for a frame.
    front = 4 + 4 * BANDS + 2 * FRONT.window
    decider = 4 * (3 + CLASSES) + 8
    work = 2 * 264 + 6 * BANDS  # 65 complex numbers, aligned
    parts = [4, front, ROWS * BANDS, decider, work]
    nbytes = sum(-(-part // 8) * 8 for part in parts)
    assert project.audio.state_bytes == nbytes == int(said["EARS_AUDIO_STATE_BYTES"])
    told = project.audio.as_dict()
    tables = told.pop("table_bytes")
    assert told == {
        "rows": ROWS,
        "stride": 3,
        "state_bytes": nbytes,
        "work_in_arena": False,
        "front_end": PIPELINE.as_dict(),
    }
    source = (tmp_path / "c" / "ears_audio.c").read_text()
    counts = re.findall(r"static const int16_t \w+\[(\d+)\]", source)
    assert tables == 2 * sum(map(int, counts))
    assert {"tinyrt_log_mel", "tinyrt_rescale_s32_s8", "tinyrt_detector_s8"} <= {*project.kernels}
    assert f"ears_{project.identity}_push_audio" in (tmp_path / "c" / "ears_audio.h").read_text()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"input_rows": True}, "the input is a window of features, which is there as a whole"),
        ({"blob": True}, "a blob brings another scale of the input"),
    ],
)
def test_what_excludes_samples(options, text, ears, tmp_path):
    with pytest.raises(UnsupportedError, match=text):
        export_c(ears, tmp_path / "c", options=ExportOptions(**options))
    assert not (tmp_path / "c").exists()


def test_a_front_end_that_does_not_fit_is_refused(tmp_path):
    path = saved(tmp_path / "m.tflite", int8_net((1, ROWS, BANDS + 1)))
    with pytest.raises(UnsupportedError, match="the input holds no rows of 9 features") as error:
        export_c(path, tmp_path / "c")
    assert error.value.file == str(path)


@pytest.mark.slow
def test_of_several_models_those_with_a_front_end_take_samples(ears, tmp_path):
    plain = saved(tmp_path / "plain.tflite", int8_net(), None)
    both = export_several([ears, plain], tmp_path / "both", core="host", shared_arena=True)
    assert [project.audio is not None for project in both.models] == [True, False]
    assert "ears_audio.c" in both.files
    assert "plain_audio.c" not in both.files
    command = ["make", "-s", "-C", tmp_path / "both", f"CC={host_compiler()}", "CFLAGS=-O0"]
    subprocess.run(command, check=True)


@pytest.mark.slow
def test_options_beside_samples(ears, tmp_path):
    """Slices, golden vectors and a layout of an ecosystem do not mind."""
    project = export_c(
        ears, tmp_path / "a", core="host", options=ExportOptions(slices=20_000, name="other")
    )
    assert project.slices is not None
    assert macros(tmp_path / "a", "other")["OTHER_SLICES"]
    export_c(
        ears,
        tmp_path / "b",
        core="cortex-m0",
        optimize="size",
        options=ExportOptions(layout="arduino"),
    )
    sources = [*(tmp_path / "b").rglob("*.c")]
    assert "ears_audio.c" in [path.name for path in sources]
    (folder,) = {path.parent for path in sources if path.name == "ears.c"}
    flags = ["-std=c99", "-O0", "-Werror", "-Wall", "-fsyntax-only", f"-I{folder}"]
    subprocess.run([host_compiler(), *flags, folder / "ears_audio.c"], check=True)
