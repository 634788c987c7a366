"""Sound files: WAV with 16-bit samples of one channel, and nothing else."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.errors import DataError, error_context

PCM, EXTENSIBLE = 1, 0xFFFE
"""Codes of formats: whole numbers, and a longer header that says which."""

CODECS = {2: "ADPCM", 3: "floats", 6: "A-law", 7: "mu-law", 0x55: "MP3"}
CONVERT = "convert it: ffmpeg -i FILE -ac 1 -ar RATE -c:a pcm_s16le OUT.wav"

HEADER, CHUNK, FORMAT = struct.Struct("<4sI4s"), struct.Struct("<4sI"), struct.Struct("<HHIIHH")
SUBFORMAT = 24
"""Where an extensible format says its code."""


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """A recording.

    Attributes:
        samples: int16 (n,); of several axes (n, axes).
        rate: samples in a second.

    """

    samples: NDArray[np.int16]
    rate: float


def read_wav(path: str | Path) -> Sound:
    """Read a WAV file of 16-bit samples of one channel.

    Raises:
        DataError: the file cannot be read, is damaged, or is of another format.
        BudgetError: it is too large.

    """
    with error_context(file=str(path)):
        try:
            with Path(path).open("rb") as file:
                nbytes = Path(path).stat().st_size
                current().allow_for(nbytes)
                current().reserve(2 * nbytes, "the recording")
                data = file.read(nbytes)
        except OSError as error:
            raise DataError(
                f"cannot read the recording: {error.strerror}", hint="check the path"
            ) from error
        return _parsed(data)


def _parsed(data: bytes) -> Sound:
    if len(data) < HEADER.size or HEADER.unpack_from(data)[::2] != (b"RIFF", b"WAVE"):
        raise DataError(
            "this is not a WAV file", expected="RIFF at its start, WAVE at byte 8", hint=CONVERT
        )
    rate, at = 0, HEADER.size
    while at + CHUNK.size <= len(data):
        name, size = CHUNK.unpack_from(data, at)
        at += CHUNK.size
        if name == b"data" and rate:
            return Sound(_samples(data, at, size), rate)
        if at + size > len(data):
            break
        if name == b"fmt ":
            rate = _rate(data[at : at + size])
        at += size + size % 2
    raise DataError(
        "the WAV file ends before its samples begin",
        expected="a part 'fmt ', and behind it a part 'data'",
        hint="copy or record it again",
    )


def _rate(format_: bytes) -> int:
    """The rate that a part ``fmt`` says, which is of the only format that there is."""
    if len(format_) < FORMAT.size:
        raise DataError(
            f"the WAV file's part 'fmt ' has {len(format_)} bytes",
            expected=f"at least {FORMAT.size}",
            hint="copy or record it again",
        )
    code, channels, rate, _, _, bits = FORMAT.unpack_from(format_)
    if code == EXTENSIBLE and len(format_) >= SUBFORMAT + 2:
        (code,) = struct.unpack_from("<H", format_, SUBFORMAT)
    if (code, channels, bits) != (PCM, 1, 16) or not rate:
        kind = "" if code == PCM else f" of {CODECS.get(code, f'format {code}')}"
        raise DataError(
            f"the recording has {channels} channels of {bits} bits{kind}, at {rate:,} Hz",
            expected="one channel of 16-bit whole numbers",
            hint=CONVERT,
        )
    return int(rate)


def _samples(data: bytes, at: int, size: int) -> NDArray[np.int16]:
    if at + size > len(data) or size % 2:
        raise DataError(
            f"the WAV file says that its samples take {size:,} bytes, and has {len(data) - at:,}",
            expected="all of them, two bytes each",
            hint="copy or record it again",
        )
    return np.frombuffer(data, "<i2", size // 2, at).astype(np.int16)
