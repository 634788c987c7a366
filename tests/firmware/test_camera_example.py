"""The example that finds digits in frames, built as its README says: every box is the host's."""

import re

import numpy as np
import pytest

from tests.firmware.device import require_core
from tinyrt import api
from tinyrt.export import ExportOptions
from tools import firmware as tool

pytestmark = [pytest.mark.device, pytest.mark.slow]

CORE = "cortex-m7"
(EXAMPLE,) = [example for example in tool.EXAMPLES if example.name == "camera"]
FRAMES = EXAMPLE.folder / "frames.npy"
LINE = re.compile(
    r"^  a (\d), score +(-?\d+), at +(\d+) to +(\d+) down, +(\d+) to +(\d+) across$", re.MULTILINE
)


def told(found):
    """The lines that the firmware prints of a frame."""
    return [
        (int(label), int(score), top, bottom, left, right)
        for (top, left, bottom, right), label, score in zip(
            found.boxes.tolist(), found.classes, found.scores, strict=True
        )
    ]


@pytest.mark.whole
def test_every_box_is_the_hosts(tmp_path):
    require_core(CORE)
    printed = tool.built(EXAMPLE, CORE, tmp_path).printed
    seen = api.look_model(tool.FINDER, FRAMES)
    frames = re.split(r"^frame \d: (\d+) digits\n", printed[printed.index("frame 0") :], flags=re.M)
    assert [int(count) for count in frames[1::2]] == [len(f.scores) for f in seen.boxes]
    lines = [[tuple(map(int, line)) for line in LINE.findall(text)] for text in frames[2::2]]
    assert lines == [told(found) for found in seen.boxes]
    assert sum(map(len, lines)) > 3
    readme = (EXAMPLE.folder / "README.md").read_text()
    assert printed[printed.index("frame 0") :].splitlines()[0] in readme


@pytest.mark.whole
def test_a_line_that_comes_too_early_is_noticed(tmp_path):
    """With 2,000 frames a second there is no time for the network."""
    require_core(CORE)
    folder, _ = tool.copied(EXAMPLE, tmp_path, CORE)
    main = folder / "main.c"
    text, count = re.subn(r"(FRAMES_A_SECOND) 15\b", r"\1 2000", main.read_text())
    assert count == 1
    main.write_text(text)
    with pytest.raises(RuntimeError, match="a line came too early"):
        tool.run(["make", "-s", "run"], folder)


@pytest.mark.whole
@pytest.mark.parametrize("rows", [False])
def test_the_image_may_be_held_too(rows):
    require_core(CORE)
    options = ExportOptions(input_rows=rows)
    found = api.emulate_recording(tool.FINDER, FRAMES, core=CORE, options=options)
    assert found.bit_exact
    assert found.ram.arena > 48 * 64
    assert np.load(FRAMES).shape == (3, 120, 160)
