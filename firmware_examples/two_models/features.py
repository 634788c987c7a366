"""Writes spoken.h: what the words of a recording are to the network, in four windows of a second.

python features.py RECORDING.wav [FILE]
"""

import sys
import wave
from pathlib import Path

import numpy as np

from tinyrt.dsp import LogMel, LogMelStream

FRONT = LogMel(sample_rate=16_000, window=480, step=320, bands=24)
"""As the model's own: tinyrt inspect keywords.tflite."""

ROWS, OFFSET = 49, 320
ENDS = (59, 129, 164, 224)
"""Frames by which a word of the recording has been spoken."""


def windows(recording: Path) -> np.ndarray:
    """uint16 (windows, ROWS, bands): features, as the front end has them."""
    with wave.open(str(recording)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    rows = LogMelStream(FRONT).push(samples)
    return np.stack([rows[end - ROWS : end] for end in ENDS])


def main(recording: Path, header: Path) -> None:
    """Write the header."""
    found = windows(recording)
    count, rows, bands = found.shape
    head = (
        f"/** Log-mel features of {count} words, {rows} frames of {bands} bands each. Written by\n"
        " *  features.py. */\n"
        f"#include <stdint.h>\n\n#define SPOKEN {count}\n\n"
        f"static const uint16_t spoken[SPOKEN][{rows * bands}] = {{\n"
    )
    lines = ["    " + " ".join(f"{value}," for value in row) for row in found.reshape(-1, bands)]
    rows_of = [lines[at : at + rows] for at in range(0, len(lines), rows)]
    body = "".join("    {\n" + "\n".join(each) + "\n    },\n" for each in rows_of)
    header.write_text(f"{head}{body}}};\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(*sys.argv[2:] or ["spoken.h"]))
