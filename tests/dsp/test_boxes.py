"""Boxes by scores and encodings, and the greatest scores: by definition, and in C."""

import json
import os
import re
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import ABORT
from tests.docs.pages import rows_of
from tests.dsp.device import run_invoke
from tests.export.program import build_program
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import Boxes, TopK
from tinyrt.dsp.boxes import MAX_UNITS
from tinyrt.errors import DataError
from tinyrt.export import export_boxes, export_top_k


def grid(height, width, step, side):
    """Anchors of one side at equal distances."""
    return tuple(
        (y, x, side, side * 3 // 4)
        for y in range(step // 2, height, step)
        for x in range(step // 2, width, step)
    )


WIDE = MAX_UNITS
MANY = [
    Boxes(240, 320, grid(240, 320, 40, 60), 3, -20, 0.25, 64, 48, 0.01, 0.005, -5, True, (0,)),
    Boxes(96, 96, grid(96, 96, 16, 30), 1, -128, 0.1, 16, 16, 0.02, 0.01, 60, False),
    # As large as can be: sums and products at their limits.
    Boxes(
        *(WIDE, WIDE, ((0, 0, WIDE, WIDE), (WIDE, WIDE, WIDE, WIDE), (WIDE, 0, 1, WIDE)), 2),
        *(-128, 0.0, 6, 6, 0.1, 0.1, 0, False),
    ),
    Boxes(50, 70, grid(50, 70, 10, 30), 2, 100, 1.0, 7, 3),
]


def samples(boxes, count, seed=0):
    """Scores with clusters and many equal ones, and encodings of all kinds."""
    rng = np.random.default_rng(seed)
    anchors = len(boxes.anchors)
    scores = rng.integers(-128, 128, (count, anchors, boxes.classes))
    scores = np.where(rng.random(scores.shape) < 0.5, scores // 32 * 32, scores)
    codes = rng.integers(-128, 128, (count, anchors, 4))
    return scores.clip(-128, 127).astype(np.int8), codes.astype(np.int8)


def exact(boxes, anchor, code):
    """A box in real numbers: SSD's definition, within the frame."""
    y, x, h, w = anchor
    if code is not None:
        parts = (code.astype(float) - boxes.zero_point) * np.array(
            [boxes.center_scale] * 2 + [boxes.size_scale] * 2
        )
        y, x = y + np.clip(parts[0], -8, 8) * h, x + np.clip(parts[1], -8, 8) * w
        h, w = (min(s * min(np.exp(p), 8), WIDE) for s, p in ((h, parts[2]), (w, parts[3])))
    ends = [y - h / 2, x - w / 2, y + h / 2, x + w / 2]
    return np.clip(ends, 0, [boxes.height, boxes.width] * 2)


def by_definition(boxes, scores, cornered):
    """All scores in their order, one by one, each compared with all that were kept."""
    order = sorted(
        (-int(s), anchor, label)
        for anchor, row in enumerate(scores)
        for label, s in enumerate(row)
        if label not in boxes.ignored and s >= boxes.threshold
    )
    kept = []
    for score, anchor, label in order[: boxes.candidates]:
        box = [int(v) for v in cornered[anchor]]
        fits = all(
            (boxes.by_class and label != other)
            or 256 * shared(box, b)[0] <= round(boxes.iou * 256) * shared(box, b)[1]
            for b, other, _ in kept
        )
        if fits and len(kept) < boxes.most:
            kept.append((box, label, -score))
    return kept


def shared(a, b):
    """Intersection and union of two boxes, counted without rounding."""
    down = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    across = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return down * across, sum(areas) - down * across


@pytest.mark.parametrize("boxes", MANY)
@pytest.mark.parametrize("coded", [True, False])
def test_boxes_follow_their_definition(boxes, coded):
    counts = set()
    for scores, codes in zip(*samples(boxes, sampled(15, 20)), strict=True):
        alone = Boxes(**{**as_options(boxes), "classes": 1, "ignored": (), "threshold": -128,
                         "candidates": 1, "most": 1})  # fmt: skip
        cornered = []
        for i, anchor in enumerate(boxes.anchors):
            one = Boxes(**{**as_options(alone), "anchors": (anchor,)})
            code = codes[i : i + 1] if coded else None
            (corners,) = one.find(np.zeros((1, 1), np.int8), code).boxes
            cornered.append(corners)
            real = exact(boxes, anchor, None if code is None else code[0])
            # Tables of 12 fraction bits, two roundings, and the half of an odd side.
            limit = 2 + max(anchor[2:]) * 2**-11
            assert np.abs(corners - real).max() <= limit
        found = boxes.find(scores, codes if coded else None)
        expected = by_definition(boxes, scores, cornered)
        assert found.boxes.tolist() == [box for box, _, _ in expected]
        assert found.classes.tolist() == [label for _, label, _ in expected]
        assert found.scores.tolist() == [score for _, _, score in expected]
        counts.add(len(expected))
    assert len(counts) > 1 or len(boxes.anchors) < 4


def as_options(boxes):
    return {name: getattr(boxes, name) for name in boxes.__dataclass_fields__}


def test_two_of_one_thing_are_one():
    anchors = ((50, 50, 40, 40), (50, 54, 40, 40), (50, 120, 40, 40))
    scores = np.array([[90], [100], [40]], np.int8)
    found = Boxes(200, 200, anchors, 1).find(scores)
    assert found.boxes.tolist() == [[30, 34, 70, 74], [30, 100, 70, 140]]
    assert found.scores.tolist() == [100, 40]
    # 36 of 44 columns are common to both: 0.818.
    for iou, count in ((0.81, 2), (0.83, 3)):
        assert len(Boxes(200, 200, anchors, 1, iou=iou).find(scores).scores) == count
    assert len(Boxes(200, 200, anchors, 1, most=1).find(scores).scores) == 1
    assert len(Boxes(200, 200, anchors, 1, candidates=2, most=2).find(scores).scores) == 1
    labels = np.array([[90, -9], [-9, 100], [-9, -9]], np.int8)
    assert Boxes(200, 200, anchors, 2).find(labels).classes.tolist() == [1, 0]
    assert Boxes(200, 200, anchors, 2, by_class=False).find(labels).classes.tolist() == [1]


def test_options_as_plain_data():
    for boxes in MANY:
        assert Boxes.from_dict(json.loads(json.dumps(boxes.as_dict()))) == boxes
    assert TopK.from_dict(TopK(9, 3, 5).as_dict()) == TopK(9, 3, 5)


ONE = {"height": 9, "width": 9, "anchors": [[1, 1, 2, 2]], "classes": 1}
REFUSED = {
    **{f"the option {k} is None": {n: ONE[n] for n in ONE if n != k} for k in ONE},
    "the option height is 32768": ONE | {"height": 32768},
    "the option width is 0": ONE | {"width": 0},
    "the option classes is 4097": ONE | {"classes": 4097},
    "the option anchors is 0": ONE | {"anchors": []},
    "the option anchors is 3": ONE | {"anchors": 3},
    "the option anchors is (1, 1, 2)": ONE | {"anchors": [[1, 1, 2]]},
    "the option anchors is 10": ONE | {"anchors": [[10, 1, 2, 2]]},
    "the option anchors is -1": ONE | {"anchors": [[1, -1, 2, 2]]},
    "the option anchors is 32768": ONE | {"anchors": [[1, 1, 32768, 2]]},
    "the option anchors is 11": ONE | {"anchors": [[1, 1, 2, 2], [1, 11, 2, 2], [1, 1, 2, 2]]},
    "the option threshold is -129": ONE | {"threshold": -129},
    "the option iou is 1.1": ONE | {"iou": 1.1},
    "the option candidates is 1025": ONE | {"candidates": 1025},
    "the option most is 5": ONE | {"candidates": 4, "most": 5},
    "the option center_scale is 8.1": ONE | {"center_scale": 8.1},
    "the option size_scale is -1": ONE | {"size_scale": -1},
    "the option zero_point is 128": ONE | {"zero_point": 128},
    "the option ignored is 1": ONE | {"ignored": [1]},
    "the option ignored is 7": ONE | {"classes": 3, "ignored": [0, 7, 1]},
    "the option ignored is (0,)": ONE | {"ignored": [0]},
    "the option ignored is 0": ONE | {"ignored": 0},
    "the option name is 'mots'": ONE | {"mots": 1},
}


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)):
        Boxes.from_dict(REFUSED[text])


TAKEN = {
    "a side of the most": {"height": 32767, "width": 32767, "anchors": [[32767, 0, 1, 32767]]},
    "all classes but one": {"classes": 3, "ignored": [0, 2]},
    "one class twice": {"classes": 2, "ignored": [1, 1, 1]},
    "as many kept as decoded": {"candidates": 4, "most": 4},
    "nothing in common": {"iou": 0, "threshold": -128, "zero_point": -128},
    "all in common": {"iou": 1, "threshold": 127, "zero_point": 127},
    "scales at their ends": {"center_scale": 8, "size_scale": 0},
    "most classes": {"classes": 4096},
}


@pytest.mark.parametrize("name", TAKEN)
def test_options_on_their_limits_are_taken(name):
    boxes = Boxes.from_dict(ONE | TAKEN[name])
    assert Boxes.from_dict(boxes.as_dict()) == boxes


TOP_REFUSED = {
    "the option size is None": {},
    "the option size is 1048577": {"size": 1048577},
    "the option k is 0": {"size": 4, "k": 0},
    "the option threshold is 128": {"size": 4, "threshold": 128},
}


@pytest.mark.parametrize("text", TOP_REFUSED)
def test_options_of_scores_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)):
        TopK.from_dict(TOP_REFUSED[text])


def test_arrays_that_do_not_fit_are_refused():
    boxes = Boxes.from_dict(ONE)
    scores = np.zeros((1, 1), np.int8)
    for wrong in (scores.astype(np.float32), scores[0], np.zeros((2, 1), np.int8)):
        with pytest.raises(DataError, match=r"scores are .* of the shape") as error:
            boxes.find(wrong)
        assert error.value.expected == "int8 of the shape [1, 1]"
    with pytest.raises(DataError, match="encodings are int8 of the shape") as error:
        boxes.find(scores, np.zeros((1, 3), np.int8))
    assert error.value.expected == "int8 of the shape [1, 4]"
    with pytest.raises(DataError, match="scores are int8 of the shape"):
        TopK(3).find(scores)


TOPS = [TopK(1, 1), TopK(12, 5), TopK(200, 7, 3), TopK(6, 9, -128), TopK(50, 3, 127)]


def row_of(top, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 128, top.size)
    return (x // 40 * 40 if seed % 2 else x).clip(-128, 127).astype(np.int8)


@pytest.mark.parametrize("top", TOPS)
def test_the_greatest_scores(top):
    for seed in range(30):
        x = row_of(top, seed).astype(int)
        order = sorted((i for i in range(top.size) if x[i] >= top.threshold), key=lambda i: -x[i])
        assert top.find(x.astype(np.int8)).tolist() == order[: top.k]


ON_HOST = ["cortex-m55", "host", "cortex-m4"]
"""Cores whose code runs on this machine, too."""


def said(program, data, *arguments):
    done = subprocess.run(
        [program, *arguments], input=data, capture_output=True, check=True, env=os.environ | ABORT
    )
    return done.stdout


BOX = np.dtype([("box", "<i2", 4), ("label", "<i2"), ("score", "<i2")])


def packed(boxes, scores, codes):
    """What C writes for a sample."""
    found = boxes.find(scores, codes)
    rows = np.zeros(boxes.most, BOX)
    count = len(found.scores)
    rows["box"][:count], rows["label"][:count] = found.boxes, found.classes
    rows["score"][:count] = found.scores
    return np.int32(count).tobytes() + rows.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("boxes", "core"),
    sampled([*zip(MANY[::2], ON_HOST, strict=False)][1:], [*product(MANY, ON_HOST)]),
)
def test_c_finds_what_python_does(boxes, core, tmp_path):
    project = export_boxes(boxes, tmp_path / "project", core=core)
    program = build_program(project, Path(__file__).parent / "boxes.c", tmp_path)
    scores, codes = samples(boxes, sampled(20, 1000), seed=3)
    data = b"".join(s.tobytes() + c.tobytes() for s, c in zip(scores, codes, strict=True))
    for arguments, given in (((), codes), (("anchors",), [None] * len(codes))):
        found = said(program, data, *arguments)
        assert np.frombuffer(found[:20], np.int32).tolist() == [4, 4, 4, 5, 7]
        want = b"".join(packed(boxes, s, c) for s, c in zip(scores, given, strict=True))
        assert found[20:] == want


TOP_PROGRAM = """
#include <stdio.h>
#include "top_k.h"
int main(void) {
    static int8_t scores[TOP_K_SIZE];
    static int32_t places[TOP_K_MOST];
    int32_t count = 0;
    const int misuse[] = {top_k_find(NULL, places, &count), top_k_find(scores, NULL, &count),
                          top_k_find(scores, places, NULL)};
    fwrite(misuse, sizeof misuse, 1, stdout);
    while (fread(scores, 1, TOP_K_SIZE, stdin) == TOP_K_SIZE) {
        if (top_k_find(scores, places, &count) != 0) {
            return 1;
        }
        fwrite(&count, sizeof count, 1, stdout);
        fwrite(places, sizeof *places, (size_t)count, stdout);
    }
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("top", "core"),
    sampled([*zip(TOPS[2:], ON_HOST, strict=True)][:2], [*product(TOPS, ON_HOST)]),
)
def test_c_finds_the_greatest_scores(top, core, tmp_path):
    project = export_top_k(top, tmp_path / "project", core=core)
    (tmp_path / "main.c").write_text(TOP_PROGRAM)
    program = build_program(project, tmp_path / "main.c", tmp_path)
    scores = [row_of(top, seed) for seed in range(300)]
    found = np.frombuffer(said(program, b"".join(x.tobytes() for x in scores)), np.int32)
    want = [top.find(x) for x in scores]
    assert found[:3].tolist() == [4, 4, 4]
    assert found[3:].tolist() == [n for row in want for n in (len(row), *row.tolist())]


INVOKE = """
#include "boxes.h"
#include "clip.h"

int clip_invoke(const clip_io_t *io, void *arena) {{
    (void)io;
    int8_t *const bytes = arena;
    int8_t *const out = bytes + CLIP_OUTPUT_0_OFFSET;
    for (int32_t i = 0; i < (int32_t)sizeof(int32_t) + BOXES_MOST * 12; ++i) {{
        out[i] = 0;
    }}
    return boxes_find(bytes, bytes + {codes}, (boxes_box_t *)(void *)(out + 4),
                      (int32_t *)(void *)out, bytes + CLIP_STATE);
}}
"""
MOST = {"cortex-m0": 38_000, "cortex-m4": 27_000, "cortex-m55": 20_000, "rv32imc": 26_000}
"""Instructions for a frame of 48 anchors and 3 classes, of whose scores 64 are decoded."""


def test_the_page_has_these_figures():
    rows = rows_of("dsp.md", "core | instructions |\n")
    assert {core: int(most.replace(",", "")) for core, most in rows} == MOST


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m0"], [*MOST]))
def test_a_core_finds_what_the_host_does(core, tmp_path):
    require_core(core)
    boxes = MANY[0]
    project = export_boxes(boxes, tmp_path / "project", core=core)
    count = sampled(20, 1_000)
    scores, codes = samples(boxes, count, seed=5)
    data = np.concatenate([scores.reshape(count, -1), codes.reshape(count, -1)], axis=1)
    invoke = INVOKE.format(codes=scores[0].size)
    where = (project.directory, "boxes", core, tmp_path)
    memory = -(-project.work_bytes // 8) * 8
    _, done = run_invoke(*where, invoke, data, memory, 4 + 12 * boxes.most)
    want = b"".join(packed(boxes, s, c) for s, c in zip(scores, codes, strict=True))
    assert done.outputs == want
    assert 0.8 * MOST[core] < done.instructions <= MOST[core]


def test_what_an_export_says(tmp_path):
    boxes = MANY[3]
    project = export_boxes(boxes, tmp_path / "a", name="seen", prefix="acme")
    header = (project.directory / "acme_seen.h").read_text()
    assert project.work_bytes == 4 * 7 + 12 * 3
    for line in ("WORK_BYTES 64", "ANCHORS 35", "CLASSES 2", "MOST 3"):
        assert f"#define ACME_SEEN_{line}\n" in header
    assert f"acme_seen_{project.identity}_find" in header
    assert (project.boxes, "acme_seen.c" in project.files) == (boxes, True)
    top = export_top_k(TopK(12, 5), tmp_path / "b", name="best")
    header = (top.directory / "best.h").read_text()
    assert ("#define BEST_SIZE 12\n" in header, "#define BEST_MOST 5\n" in header) == (True, True)
    assert (top.name, top.top_k, "best.c" in top.files) == ("best", TopK(12, 5), True)
