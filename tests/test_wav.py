"""Sound files: the one format that is read, and what the others are answered with."""

import re
import struct
import wave

import numpy as np
import pytest

from tests.dsp.sounds import mixed
from tests.listening import wav
from tinyrt.budget import limited
from tinyrt.errors import BudgetError, DataError, TinyrtError
from tinyrt.wav import read_wav

SAMPLES = mixed(0, 501)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.wav"


def test_samples_and_rate(path):
    path.write_bytes(wav(SAMPLES, rate=22_050))
    sound = read_wav(path)
    assert sound.rate == 22_050
    assert sound.samples.dtype == np.int16
    assert sound.samples.flags.writeable
    np.testing.assert_array_equal(sound.samples, SAMPLES)
    for behind in (b"", b"a part behind"):
        path.write_bytes(wav(SAMPLES[:0]) + behind)
        assert read_wav(path).samples.shape == (0,)


def test_a_recording_is_read_within_the_memory_there_is_and_adds_to_it(path):
    path.write_bytes(wav(SAMPLES))
    nbytes = path.stat().st_size
    with limited(memory=2 * nbytes):
        assert len(read_wav(path).samples) == len(SAMPLES)
    with limited(memory=2 * nbytes - 1), pytest.raises(BudgetError, match="the recording"):
        read_wav(path)
    with limited() as budget:
        before = budget.memory
        read_wav(path)
        assert budget.memory == before + nbytes * budget.memory_per_byte


def test_as_python_writes_it(path):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(SAMPLES.tobytes())
    assert read_wav(path).rate == 8_000
    np.testing.assert_array_equal(read_wav(path).samples, SAMPLES)


def extensible(code, behind=14):
    """A longer header, whose code stands behind its first 24 bytes, and so many bytes behind it."""
    format_ = struct.pack("<HHIIHH", 0xFFFE, 1, 16_000, 32_000, 2, 16)
    format_ += struct.pack("<HHIH", 22, 16, 4, code) + bytes(behind)
    parts = [(b"fmt ", format_), (b"data", SAMPLES.tobytes())]
    body = b"".join(name + struct.pack("<I", len(data)) + data for name, data in parts)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


@pytest.mark.parametrize("behind", [14, 0])
def test_a_longer_header(behind, path):
    path.write_bytes(extensible(1, behind))
    np.testing.assert_array_equal(read_wav(path).samples, SAMPLES)


WHOLE = wav(SAMPLES)
REFUSED = {
    "this is not a WAV file": b"RIFF    AIFF",
    "this is not a WAV file ": WHOLE[:11],
    "2 channels of 16 bits, at 16,000 Hz": wav(SAMPLES, channels=2),
    "1 channels of 24 bits, at 16,000 Hz": wav(SAMPLES, bits=24),
    "1 channels of 16 bits of floats, at": wav(SAMPLES, code=3),
    "1 channels of 16 bits of format 77, at": wav(SAMPLES, code=77),
    "1 channels of 4 bits of ADPCM, at": wav(SAMPLES, code=2, bits=4),
    "1 channels of 8 bits of A-law, at": wav(SAMPLES, code=6, bits=8),
    "1 channels of 8 bits of mu-law, at": wav(SAMPLES, code=7, bits=8),
    "1 channels of 0 bits of MP3, at": wav(SAMPLES, code=0x55, bits=0),
    "1 channels of 16 bits of floats, at 16": extensible(3),
    "1 channels of 16 bits of format 65534, at": extensible(1)[:16] + b"\x19" + extensible(1)[17:],
    "1 channels of 16 bits, at 0 Hz": wav(SAMPLES, rate=0),
    "ends before its samples begin": WHOLE[:50],
    "ends before its samples begin ": WHOLE[:12] + WHOLE[36:],
    "ends before its samples begin  ": WHOLE[:16] + struct.pack("<I", 2**32 - 1) + WHOLE[20:],
    "file's part 'fmt ' has 15 bytes": WHOLE[:16] + b"\x0f\0\0\0" + WHOLE[20:],
    "take 1,002 bytes, and has 1,001": WHOLE[:-1],
    "take 1,001 bytes, and has 1,002": WHOLE.replace(struct.pack("<I", 1002), b"\xe9\3\0\0"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_files_are_refused(text, path):
    path.write_bytes(REFUSED[text])
    with pytest.raises(DataError, match=re.escape(text.strip())) as e:
        read_wav(path)
    assert e.value.file == str(path)


def test_a_file_that_is_not_there(path):
    with pytest.raises(DataError, match="cannot read the recording: No such file"):
        read_wav(path)


def test_damaged_files_are_read_or_refused(path):
    """Any byte may be any other: nothing but a refusal, or samples that are there."""
    rng = np.random.default_rng(0)
    for _ in range(600):
        data = bytearray(WHOLE[: rng.integers(0, len(WHOLE) + 1)])
        for at in rng.integers(0, 60, 3):
            if at < len(data):
                data[at] = rng.integers(0, 256)
        path.write_bytes(data)
        try:
            sound = read_wav(path)
        except TinyrtError:
            continue
        assert 0 < sound.rate < 2**32
        assert 2 * len(sound.samples) <= len(data)
