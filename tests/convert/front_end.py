"""A model that makes features of sound, of the ops that TFLM's audio preprocessor is made of."""

from __future__ import annotations

import numpy as np

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.tflite_files import i32, scalar

SAMPLES, LENGTH, BINS, CHANNELS = 60, 64, 33, 6
FIRST, LAST = 2, 30
"""The first frequency, and the one behind the last."""


def _s16(name: str, data: object) -> Tensor:
    array = np.asarray(data).astype(np.int16)
    return Tensor(name, array.shape, "INT16", array)


def _constants() -> list[Tensor]:
    window = np.rint(4096 * np.sin(np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES) ** 2)
    widths = [4] * (CHANNELS + 1)
    starts = [FIRST + 4 * i for i in range(CHANNELS + 1)]
    weights = np.tile([512, 1536, 2560, 3584], CHANNELS + 1)
    gains = np.rint(30000 / (1 + np.arange(125) / 8)) - 400 * (np.arange(125) % 4)
    return [
        _s16("window", window),
        _s16("weights", weights),
        _s16("unweights", 4096 - weights),
        _s16("starts", starts),
        _s16("places", 4 * np.arange(CHANNELS + 1)),
        _s16("widths", widths),
        _s16("gains", gains),
        i32("flat", -1),
        i32("begin", FIRST),
        i32("size", LAST - FIRST),
        i32("head", *[0] * FIRST),
        i32("tail", *[0] * (BINS - LAST)),
        *(scalar(f"c{n}", n) for n in (256, 333, 666, -128, 127)),
    ]


def _activations() -> list[Tensor]:
    kinds = {
        "INT16": {"x": (1, SAMPLES), "shaped": (1, SAMPLES), "row": (SAMPLES,), "loud": (SAMPLES,),
                  "spectrum": (LENGTH + 2,), "logs": (CHANNELS,)},
        "INT32": {"bits": (), "energy32": (BINS,), "part": (LAST - FIRST,), "joined": (BINS,),
                  **dict.fromkeys(("f0", "f1", "f2", "f3", "f4", "f5", "f6"), (CHANNELS,))},
        "UINT32": {"energy": (BINS,), "cleared": (BINS,),
                   **dict.fromkeys(("roots", "clean", "noise", "even"), (CHANNELS,))},
        "UINT64": {"channels": (CHANNELS,)},
        "INT8": {"y": (CHANNELS,)},
    }  # fmt: skip
    return [Tensor(n, shape, kind) for kind, named in kinds.items() for n, shape in named.items()]


SUBTRACTION = {
    "alternate_one_minus_smoothing": 15401,
    "alternate_smoothing": 983,
    "clamping": False,
    "min_signal_remaining": 819,
    "num_channels": CHANNELS,
    "one_minus_smoothing": 15975,
    "smoothing": 409,
    "smoothing_bits": 10,
    "spectral_subtraction_bits": 14,
}


def _custom(name: str, inputs: str, outputs: str, **fields: object) -> Op:
    return Op(f"CUSTOM (Signal{name})", inputs.split(), outputs.split(), fields=fields)


def _ops() -> list[Op]:
    return [
        _custom("Window", "x window", "shaped", shift=12),
        Op("RESHAPE", ["shaped", "flat"], ["row"]),
        _custom("FftAutoScale", "row", "loud bits"),
        _custom("Rfft", "loud", "spectrum", T=7, fft_length=LENGTH),
        _custom("Energy", "spectrum", "energy", start_index=FIRST, end_index=LAST),
        Op("CAST", ["energy"], ["energy32"]),
        Op("SLICE", ["energy32", "begin", "size"], ["part"]),
        Op("CONCATENATION", ["head", "part", "tail"], ["joined"], "ConcatenationOptions"),
        Op("CAST", ["joined"], ["cleared"]),
        _custom(
            "FilterBank",
            "cleared weights unweights starts places widths",
            "channels",
            num_channels=CHANNELS,
        ),
        _custom("FilterBankSquareRoot", "channels bits", "roots"),
        _custom("FilterBankSpectralSubtraction", "roots", "clean noise", **SUBTRACTION),
        _custom("PCAN", "clean noise gains", "even", snr_shift=6),
        _custom("FilterBankLog", "even", "logs", input_correction_bits=3, output_scale=64),
        Op("CAST", ["logs"], ["f0"]),
        Op("MUL", ["f0", "c256"], ["f1"], "MulOptions"),
        Op("ADD", ["f1", "c333"], ["f2"], "AddOptions"),
        Op("DIV", ["f2", "c666"], ["f3"], "DivOptions"),
        Op("ADD", ["f3", "c-128"], ["f4"], "AddOptions"),
        Op("MINIMUM", ["f4", "c127"], ["f5"]),
        Op("MAXIMUM", ["f5", "c-128"], ["f6"]),
        Op("CAST", ["f6"], ["y"]),
    ]


def front_end() -> bytes:
    """int16 (1, 60) -> int8 (6,): features that follow the loudness of what was heard before."""
    tensors = [*_activations(), *_constants()]
    return build(Subgraph(tensors, _ops(), ["x"], ["y"]))


def keywords() -> bytes:
    """int16 (1, 60) -> float (1, 4): a dense layer in float behind features that keep no state."""
    rng = np.random.default_rng(1)
    layer = {"w": rng.normal(size=(4, CHANNELS)), "b": rng.normal(size=4)}
    made = {"real": (CHANNELS,), "features": (1, CHANNELS), "scores": (1, 4)}
    tensors = [*_activations(), *_constants(), i32("rows", 1, CHANNELS)]
    tensors += [Tensor(n, a.shape, data=a.astype(np.float32)) for n, a in layer.items()]
    tensors += [Tensor(n, shape) for n, shape in made.items()]
    ops = [
        *_ops()[:11],
        _custom("FilterBankLog", "roots", "logs", input_correction_bits=3, output_scale=64),
        Op("CAST", ["logs"], ["real"]),
        Op("RESHAPE", ["real", "rows"], ["features"]),
        Op("FULLY_CONNECTED", ["features", "w", "b"], ["scores"], "FullyConnectedOptions"),
    ]
    used = {name for op in ops for name in (*op.inputs, *op.outputs)}
    return build(Subgraph([t for t in tensors if t.name in used], ops, ["x"], ["scores"]))


def sounds(runs: int, seed: int = 0) -> np.ndarray:
    """Frames of noise and of tones, of any loudness, silence, and extremes."""
    rng = np.random.default_rng(seed)
    loudness = 10 ** rng.uniform(0, 4.5, (runs, 1))
    tones = np.sin(np.arange(SAMPLES) * rng.uniform(0, 3, (runs, 1)))
    kind = rng.integers(4, size=(runs, 1))
    mixed = np.where(kind == 0, 0, np.where(kind == 1, rng.normal(size=(runs, SAMPLES)), tones))
    frames = np.where(kind == 3, 1e6 * np.sign(mixed), loudness * mixed)
    return frames.clip(-(2**15), 2**15 - 1).astype(np.int16)[:, None, :]


def streams() -> bytes:
    """int16 (1, 2, 6) and (1, 3), each through ops that keep what was heard before."""
    s16 = {
        "x": (1, 2, 6),
        "late": (1, 2, 6),
        "frames": (1, 2, 3, 5),
        "y": (1, 2, 6),
        "f": (3,),
        "z": (9,),
    }
    tensors = [Tensor(name, shape, "INT16") for name, shape in s16.items()]
    tensors += [Tensor(name, (), "BOOL") for name in ("filled", "stacked")]
    ops = [
        _custom("Delay", "x", "late", delay_length=4),
        _custom("Framer", "late", "frames filled", frame_size=5, frame_step=2, prefill=False),
        _custom("OverlapAdd", "frames", "y", T=7, frame_step=2),
        _custom(
            "Stacker",
            "f",
            "z stacked",
            num_channels=3,
            stacker_left_context=1,
            stacker_right_context=1,
            stacker_step=2,
        ),
    ]
    return build(Subgraph(tensors, ops, ["x", "f"], ["y", "filled", "z", "stacked"]))
