"""What TFLM's microfrontend answers: digests of its features, and how they were made.

    python -m tests.dsp.vectors SOURCES

builds the microfrontend from a folder with its sources (``tensorflow/`` and ``kissfft/``, as in the
source archive of pymicro-features 2.0.2) and writes ``microfrontend.json``.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.dsp.sounds import KINDS, mixed
from tinyrt.dsp import LogMel, LogMelStream, NoiseReduction, Pcan
from tinyrt.errors import DataError

FILE = Path(__file__).parent / "microfrontend.json"
COUNT = 60
LIBRARY = "tensorflow/lite/experimental/microfrontend/lib"

SHIM = f"""
#include <cstdlib>
#include <cstring>
extern "C" {{
#include "{LIBRARY}/frontend.h"
#include "{LIBRARY}/frontend_util.h"
}}

extern "C" int features(const int *n, const float *r, const int16_t *x, long count, uint16_t *y) {{
  FrontendConfig c;
  FrontendState s;
  std::memset(&c, 0, sizeof c);
  c.window = {{(size_t)n[1], (size_t)n[2]}};
  c.filterbank.num_channels = n[3];
  c.filterbank.lower_band_limit = r[0];
  c.filterbank.upper_band_limit = r[1];
  c.noise_reduction = {{n[4], r[2], r[3], r[4]}};
  c.pcan_gain_control = {{n[5], r[5], r[6], n[6]}};
  c.log_scale = {{n[7], n[8]}};
  if (!FrontendPopulateState(&c, &s, n[0])) return -1;
  int frames = 0;
  for (size_t used; count > 0; x += used, count -= used) {{
    FrontendOutput o = FrontendProcessSamples(&s, x, count, &used);
    if (o.values) std::memcpy(y + n[3] * frames++, o.values, 2 * o.size);
  }}
  FrontendFreeStateContents(&s);
  return frames;
}}
"""


def front_of(seed: int) -> LogMel:
    """A random front end that the microfrontend has, too; raises where it overflows."""
    rng = np.random.default_rng(seed)
    rate = int(rng.choice([8_000, 16_000, 22_000, 44_000]))
    size = int(rng.integers(10, 60))
    lower = int(rng.choice([0, 20, 125, 900]))
    even, odd, least = (int(n) / 1000 for n in rng.integers(0, 300, 3))
    strength, offset = int(rng.integers(10, 120)) / 100, int(rng.integers(20, 200)) / 2
    pcan = Pcan(strength, offset, int(rng.integers(18, 24)))
    return LogMel(
        sample_rate=rate,
        window=size * rate // 1000,
        step=int(rng.integers(1, size + 1)) * rate // 1000,
        bands=int(rng.integers(1, 80)),
        lower_hz=lower,
        upper_hz=int(rng.integers(lower + 200, rate // 2)),
        noise_reduction=NoiseReduction(even, odd, least, int(rng.integers(7, 11))),
        pcan=pcan if rng.integers(2) else None,
        log_shift=int(rng.integers(0, 11)) if rng.integers(4) else None,
    )


def digest(features: np.ndarray) -> str:
    """Of uint16 (frames, bands)."""
    return hashlib.sha256(features.astype("<u2").tobytes()).hexdigest()[:16]


def samples_of(front: LogMel, seed: int) -> np.ndarray:
    return mixed(seed, front.window + 6 * front.step)


def _answer(library: ctypes.CDLL, front: LogMel, x: np.ndarray) -> np.ndarray:
    r, p, in_ms = front.noise_reduction, front.pcan or Pcan(), 1000 / front.sample_rate
    whole = (front.sample_rate, round(front.window * in_ms), round(front.step * in_ms))
    whole += (front.bands, r.smoothing_bits, front.pcan is not None, p.gain_bits)
    whole += (front.log_shift is not None, front.log_shift or 0)
    real = (front.lower_hz, front.upper_hz, r.even_smoothing, r.odd_smoothing)
    real += (r.min_signal_remaining, p.strength, p.offset)
    y = np.zeros((front.frames(len(x)), front.bands), np.uint16)
    numbers, reals = np.array(whole, np.int32), np.array(real, np.float32)
    places = [a.ctypes.data_as(ctypes.c_void_p) for a in (numbers, reals, x, y)]
    count = library.features(*places[:3], ctypes.c_long(len(x)), places[3])
    assert count == len(y), f"{count} frames of {front}"
    return y


def write(sources: Path) -> None:
    """Build the microfrontend and write the digests of its answers."""
    library = sources / LIBRARY
    units = [p for p in sorted(library.glob("*.cc")) if not p.stem.endswith(("test", "main", "io"))]
    units = [p for p in units if "generator" not in p.name]
    with tempfile.TemporaryDirectory() as folder:
        shim, built = Path(folder) / "shim.cc", Path(folder) / "microfrontend.so"
        shim.write_text(SHIM)
        options = ["-O2", "-shared", "-fPIC", "-DFIXED_POINT=16", f"-I{sources}"]
        options += [f"-I{sources}/kissfft", "-o", built]
        subprocess.run(["g++", *options, shim, *units], check=True)
        loaded = ctypes.CDLL(str(built))
    answers, seed = {}, 0
    while len(answers) < COUNT:
        seed += 1
        try:
            front = front_of(seed)
            LogMelStream(front)
        except DataError:
            continue
        answers[str(seed)] = digest(_answer(loaded, front, samples_of(front, seed)))
    for i in range(len(KINDS)):
        answers[f"default {i}"] = digest(_answer(loaded, LogMel(), samples_of(LogMel(), i)))
    FILE.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
