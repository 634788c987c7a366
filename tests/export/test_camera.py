"""Projects of models that take frames, under sanitizers: the host's answers and boxes."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.c.host import ABORT
from tests.export.program import build_program
from tests.listening import saved
from tests.sampling import sampled
from tests.seeing import BOXES, CODED, COLOURS, GREY, frames_of, int8_net
from tinyrt import api
from tinyrt.dsp import Camera
from tinyrt.emulate.camera import BOX
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, Memories, export_c
from tinyrt.export.camera import check_rows
from tinyrt.sighted import sighted

STATUSES = [5, 7, 5, 7, 6, 1, 2, 4, 4, 4, 4, 5]
"""Of ``camera.c``: null and misaligned states, no io, no arena, a misaligned one, no tensors."""

CASES = {
    "coded": (CODED, False),
    "grey": (GREY, False), "grey by rows": (GREY, True),
    "colours": (COLOURS, False), "colours by rows": (COLOURS, True),
}  # fmt: skip


def answered(vision, seen, i):
    """What C writes for a frame."""
    told = [np.int32(1).tobytes()]
    if vision.boxes is not None:
        found, rows = seen.boxes[i], np.zeros(vision.boxes.most, BOX)
        count = len(found.scores)
        rows["box"][:count], rows["label"][:count] = found.boxes, found.classes
        rows["score"][:count] = found.scores
        told += [np.int32(count).tobytes(), rows.tobytes()]
    first = next(iter(seen.raw.values()))
    return b"".join([*told, first[i].tobytes()])


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(["grey by rows", "coded"], [*CASES]))
def test_lines_and_frames_give_the_answers_of_the_host(case, tmp_path):
    vision, by_rows = CASES[case]
    path = saved(
        tmp_path / "eyes.tflite", int8_net(vision.camera.channels, coded=vision is CODED), vision
    )
    options = ExportOptions(input_rows=by_rows)
    project = export_c(path, tmp_path / "project", core="host", options=options)
    program = build_program(project, Path(__file__).parent / "camera.c", tmp_path)
    frames = frames_of(vision, sampled(60, 2_000))
    done = subprocess.run(
        [program], input=frames.tobytes(), capture_output=True, check=True, env=os.environ | ABORT
    ).stdout
    assert np.frombuffer(done[:48], np.int32).tolist() == STATUSES
    seen = api.look_model(path, frames)
    assert done[48:] == b"".join(answered(vision, seen, i) for i in range(len(frames)))
    if vision.boxes is not None:
        assert len({len(found.scores) for found in seen.boxes}) > 2


def test_what_a_project_says(tmp_path):
    path = saved(tmp_path / "eyes.tflite", int8_net(), GREY)
    options = ExportOptions(input_rows=True)
    project = export_c(path, tmp_path / "c", core="cortex-m0", options=options)
    header = (tmp_path / "c" / "eyes_camera.h").read_text()
    said = dict(re.findall(r"^#define EYES_(\w+) (\d+)$", header, re.MULTILINE))
    # The camera's, the row, places of candidates, and boxes.
    parts = [12 + 4 * 8, 8, 4 * BOXES.candidates, 12 * BOXES.most]
    assert project.camera.state_bytes == sum(-(-part // 8) * 8 for part in parts)
    assert int(said["CAMERA_STATE_BYTES"]) == project.camera.state_bytes
    assert (said["FRAME_LINES"], said["FRAME_WIDTH"], said["LINE_BYTES"]) == ("15", "22", "44")
    assert (said["MOST_BOXES"], said["BOXES_HEIGHT"], said["BOXES_WIDTH"]) == ("4", "12", "16")
    assert {"eyes_camera.c", "eyes_camera.h"} <= {*project.files}
    assert {"tinyrt_camera_area_rgb565", "tinyrt_boxes_s8"} <= {*project.kernels}
    source = (tmp_path / "c" / "eyes_camera.c").read_text()
    counts = re.findall(r"static const u?int(\d+)_t (?:row|col|to_)\w+\[(\d+)\]", source)
    assert project.camera.table_bytes == sum(int(bits) // 8 * int(n) for bits, n in counts)
    assert project.camera.table_bytes == 2 * 2 * (7 + 9) + 256
    assert "moves[" not in source
    assert f"eyes_{project.identity}_push_line" in header
    assert "eyes_camera.o" in (tmp_path / "c" / "Makefile").read_text()
    assert "eyes_camera.c" in (tmp_path / "c" / "CMakeLists.txt").read_text()


REFUSED = {
    "the input is an image": {"input_type": "uint8"},
    "a blob brings another scale of the input, and images": {"blob": True},
    "the input lies outside of the arena, and the camera": {
        "memories": Memories(inputs_in_arena=False)
    },
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_excludes_a_camera_is_refused(text, tmp_path):
    path = saved(tmp_path / "eyes.tflite", int8_net(), GREY)
    with pytest.raises(UnsupportedError, match=text):
        export_c(path, tmp_path / "c", options=ExportOptions(**REFUSED[text]))
    assert not (tmp_path / "c").exists()


def test_rows_need_no_place_for_the_input(tmp_path):
    path = saved(tmp_path / "eyes.tflite", int8_net(), GREY)
    memories = Memories(inputs_in_arena=False)
    options = ExportOptions(input_rows=True, memories=memories)
    assert export_c(path, tmp_path / "c", options=options).pushed.rows == 6


def test_rows_of_another_size_are_refused():
    fit = sighted(GREY, int8_net())
    check_rows(fit, SimpleNamespace(rows=6, row_bytes=8))
    for rows, row_bytes in ((48, 1), (6, 9)):
        with pytest.raises(UnsupportedError, match=f"takes {rows} rows of {row_bytes} bytes"):
            check_rows(fit, SimpleNamespace(rows=rows, row_bytes=row_bytes))


def test_an_image_on_its_side_is_refused(tmp_path):
    camera = Camera(9, 9, 8, 6, resize="area")
    with pytest.raises(UnsupportedError, match="the input is no image of the camera's size"):
        api.attach_front_end(
            saved(tmp_path / "eyes.tflite", int8_net(), None),
            replace(GREY, camera=camera),
            tmp_path / "o.tflite",
        )
