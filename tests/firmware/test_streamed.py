"""What a page says of a streamed model, against the model."""

import re

import pytest

from tests.docs.pages import ROOT
from tests.firmware.test_zoo import emulate
from tinyrt.api import Stream, convert_model, random_inputs
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import run_emulated

SENTENCE = re.compile(
    r"needs ([\d,]+) instructions per frame on a Cortex-M4 instead of\s+([\d,]+) \(a\s+tenth\), "
    r"and ([\d,]+) bytes of arena with ([\d,]+) of state instead of ([\d,]+) of arena"
)


@pytest.mark.whole
@pytest.mark.slow
def test_the_streamed_wake_word_costs_what_the_page_says(zoo, tmp_path):
    """Bytes are exact; instructions are those of one release of the compiler."""
    text = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    said = [int(n.replace(",", "")) for n in SENTENCE.search(text).groups()]
    whole, _ = emulate(zoo, "streaming_wakeword", tmp_path / "whole", samples=1)
    path = tmp_path / "streamed.tflite"
    model = zoo / "models" / "streaming_wakeword_int8.tflite"
    convert_model(model, path, stream=Stream(1))
    inputs = random_inputs(read_tflite(path), 1)
    part = run_emulated(path, inputs=inputs, build_dir=tmp_path / "part")
    bytes_ = [part.ram.arena, part.ram.state, whole.ram.arena]
    assert said[2:] == bytes_
    assert said[:2] == pytest.approx([part.instructions, whole.instructions], rel=0.005)
    assert whole.instructions / part.instructions == pytest.approx(9.7, abs=0.5)
