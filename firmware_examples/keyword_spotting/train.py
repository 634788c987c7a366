"""Trains the example's network on words that espeak-ng speaks, and writes what the folder holds.

python train.py [FOLDER]: keywords.tflite, with its front end, and words.wav, spoken by a voice that
the network was not trained on. Needs espeak-ng and the package ``tinyrt``; takes some minutes.
"""

import io
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np

from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Detector, LogMel, LogMelStream, Pipeline
from tinyrt.train import Adam, trace
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool2d,
    Linear,
    ReLU,
    Sequential,
)

WORDS = ("yes", "no", "stop", "go")
LABELS = ("silence", "another word", *WORDS)
OTHERS = (
    *("left", "right", "up", "down", "on", "off", "one", "two", "three", "house", "garden"),
    *("window", "hello", "marvin", "happy", "tree", "bird", "seven", "nothing", "early", "paper"),
    *("table", "summer", "music"),
)
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029")
VARIANTS = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f3", "f4")
UNHEARD = "en-us+f5"
"""The voice that the recording is spoken by."""

RATE, ROWS, BANDS = 16_000, 49, 24
FRONT = LogMel(sample_rate=RATE, window=480, step=320, bands=BANDS)
CLIP = FRONT.window + FRONT.step * (ROWS - 1)
BEFORE = RATE // 2
"""Samples in which the front end gets used to the noise."""

DETECTOR = Detector(len(LABELS), window=3, threshold=60, hold=8, ignored=(0, 1))
SCALE, OFFSET, STRIDE = 1 / 64, 320, 5


def spoken(word: str, voice: str, speed: int, pitch: int) -> np.ndarray:
    """A word as float64 samples at RATE, its silence cut off."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", word]
    done = subprocess.run(command, capture_output=True, check=True)
    with wave.open(io.BytesIO(done.stdout)) as file:
        # Written to a pipe, its header does not know how long it is.
        data = file.readframes(1 << 22)
        rate = file.getframerate()
    x = np.frombuffer(data, "<i2").astype(np.float64)
    loud = np.flatnonzero(np.abs(x) > 0.02 * np.abs(x).max())
    x = x[loud[0] : loud[-1]]
    count = len(x) * RATE // rate
    bins = np.fft.rfft(x)[: count // 2 + 1]
    return np.fft.irfft(np.pad(bins, (0, count // 2 + 1 - len(bins))), count) * count / len(x)


def clip(rng: np.random.Generator, word: np.ndarray | None, at: float) -> np.ndarray:
    """Noise, and in its last CLIP samples the word, of any loudness; int16."""
    level = 10 ** rng.uniform(0.5, 2.5)
    x = rng.normal(0, level, BEFORE + CLIP)
    if word is not None:
        word = word[: CLIP - 800]
        start = BEFORE + int(at * (CLIP - len(word)))
        x[start : start + len(word)] += word * rng.uniform(0.1, 0.9) * 32_000 / np.abs(word).max()
    return x.clip(-32_768, 32_767).astype(np.int16)


def features(x: np.ndarray) -> np.ndarray:
    """The rows that the network sees at the clip's end, as it takes them."""
    rows = LogMelStream(FRONT).push(x)[-ROWS:]
    return ((rows.astype(np.float32) - OFFSET) * np.float32(SCALE))[:, :, None]


def clips(rng: np.random.Generator, spoken_each: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples int16 (n, BEFORE + CLIP) and classes; each word at several places of the window."""
    x, y = [], []
    for number, word in enumerate((*WORDS, *OTHERS)):
        label = 2 + number if number < len(WORDS) else 1
        for _ in range(spoken_each if label > 1 else spoken_each // 6):
            voice = f"{rng.choice(ACCENTS)}+{rng.choice(VARIANTS)}"
            speech = spoken(word, voice, int(rng.integers(120, 200)), int(rng.integers(25, 75)))
            for _ in range(each):
                x.append(clip(rng, speech, rng.uniform(0.25, 0.95)))
                y.append(label)
            # A word that is hardly there yet, or hardly any more, is none.
            x.append(clip(rng, speech[: len(speech) // 4], 1.0))
            y.append(1)
    for _ in range(len(x) // 8):
        x.append(clip(rng, None, 0))
        y.append(0)
    return np.stack(x), np.array(y)


def network(rng: np.random.Generator) -> Sequential:
    """Three convolutions, two of them depthwise and pointwise."""
    return Sequential(
        Conv2d(1, 16, (5, 4), stride=(2, 2), bias=False, rng=rng), BatchNorm(16), ReLU(),
        DepthwiseConv2d(16, 3, stride=(2, 2), bias=False, rng=rng), BatchNorm(16), ReLU(),
        Conv2d(16, 32, 1, bias=False, rng=rng), BatchNorm(32), ReLU(),
        DepthwiseConv2d(32, 3, bias=False, rng=rng), BatchNorm(32), ReLU(),
        Conv2d(32, 32, 1, bias=False, rng=rng), BatchNorm(32), ReLU(),
        GlobalAvgPool2d(), Linear(32, len(LABELS), rng=rng),
    )  # fmt: skip


def recording(rng: np.random.Generator) -> np.ndarray:
    """Three of the words and one that is none, by a voice that nobody has heard; int16."""
    x = rng.normal(0, 30, int(4.6 * RATE))
    for i, word in enumerate(("yes", "garden", "stop", "go")):
        speech = spoken(word, UNHEARD, 150, 50)
        start = int((0.5 + i) * RATE)
        x[start : start + len(speech)] += speech * 12_000 / np.abs(speech).max()
    return x.clip(-32_768, 32_767).astype(np.int16)


def trained(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> Sequential:
    """The network, trained on features (n, ROWS, BANDS, 1) and classes."""
    net = network(rng)
    config = FitConfig(epochs=25, batch=32, progress=True)
    fit(net, Adam(net.parameters(), 3e-3), x, y, config, rng=rng,
        lr=lambda step, steps: 3e-3 * (1 - step / steps))  # fmt: skip
    return net


def main(folder: Path) -> None:
    """Train, and write both files."""
    rng = np.random.default_rng(1)
    samples, y = clips(rng, 60, 3)
    x = np.stack([features(row) for row in samples])
    held = rng.random(len(y)) < 0.15
    net = trained(rng, x[~held], y[~held])
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("float.tflite", "int8.tflite")]
        save_tflite(optimize(trace(net, (ROWS, BANDS, 1), name="keywords")), paths[0])
        api.quantize_model(paths[0], x[~held][:200], paths[1])
        top1 = api.evaluate(paths[1], x[held], labels=y[held]).top1
        print(f"top-1 of clips that were held out: {top1:.3f}")
        pipeline = Pipeline(FRONT, SCALE, OFFSET, STRIDE, DETECTOR)
        api.attach_front_end(paths[1], pipeline, folder / "keywords.tflite")
    with wave.open(str(folder / "words.wav"), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(recording(rng).tobytes())


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["."]))
