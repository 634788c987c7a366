"""How many words the example tells from raw sound, beside a float network behind a float front end.

python -m tests.firmware.keyword_accuracy [SEEDS SPOKEN]: speaks words, trains both networks on them
by so many seeds, and prints what each tells of others, which it was not trained on.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

from tests.dsp import floats
from tinyrt import api
from tinyrt.attached import fitted, pipeline_of
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_image
from tinyrt.emulate.audio import answers_of, pieces_of, records_of
from tinyrt.emulate.fed import exported
from tinyrt.export.options import NO_OPTIONS
from tinyrt.train import trace

EXAMPLE = Path(__file__).parents[2] / "firmware_examples" / "keyword_spotting"


CLASSES = 6


def example() -> ModuleType:
    """``train.py`` of the example."""
    spec = importlib.util.spec_from_file_location("keyword_train", EXAMPLE / "train.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def features_in_float(train: ModuleType, clip: np.ndarray) -> np.ndarray:
    """What the network sees at a clip's end, of a front end in float64: (ROWS, BANDS, 1)."""
    front = train.FRONT
    frames = np.lib.stride_tricks.sliding_window_view(clip, front.window)[:: front.step]
    rows = floats.features(front, frames)[-train.ROWS :]
    return ((rows - train.OFFSET) * train.SCALE).astype(np.float32)[:, :, None]


def scores_by_host(clips: np.ndarray) -> np.ndarray:
    """All scores of the example's own model, int8 (clips, answers, classes), each clip anew."""
    model = EXAMPLE / "keywords.tflite"
    return np.stack([next(iter(api.listen_model(model, clip).raw.values())) for clip in clips])


def scores_by_device(clips: np.ndarray, core: str, folder: Path) -> np.ndarray:
    """The same scores on an emulated core: each clip in a run of its own, all by one image."""
    model = EXAMPLE / "keywords.tflite"
    pipeline = pipeline_of(model)
    assert pipeline is not None
    made_for = {"core": core, "optimize": "balanced"}
    fed = exported(model, pipeline, folder, options=NO_OPTIONS, board=None, **made_for)
    fit = fitted(pipeline, fed.graph)
    counts, chunk = pieces_of(fit, clips.shape[1]), fit.stride * pipeline.log_mel.step
    image, scores = fed.image(chunk), []
    for clip in clips:
        run = run_image(image, records_of(clip, counts, chunk), folder)
        _, answered, _ = answers_of(fed.project, run, len(counts))
        scores.append(np.frombuffer(answered.outputs, np.int8).reshape(-1, CLASSES))
    return np.stack(scores)


def compared(seeds: int, spoken_each: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of new clips that are told right: (seeds, 2), float and int8; and by the own model.

    Each seed trains the network twice, on the features of a front end in float64, which stays in
    float, and on those of the fixed-point one, which becomes int8.
    """
    train = example()
    taught, y = train.clips(np.random.default_rng(1), spoken_each, 3)
    unheard, labels = train.clips(np.random.default_rng(2), spoken_each, 3)
    in_float = partial(features_in_float, train)
    exact, fixed = (
        [np.stack([of(clip) for clip in clips]) for clips in (taught, unheard)]
        for of in (in_float, train.features)
    )
    shares = []
    with tempfile.TemporaryDirectory() as scratch:
        paths = Path(scratch) / "float.tflite", Path(scratch) / "int8.tflite"
        for seed in range(seeds):
            pair = []
            for (x, seen), is_int8 in ((exact, False), (fixed, True)):
                net = train.trained(np.random.default_rng(seed), x, y)
                graph = trace(net, (train.ROWS, train.BANDS, 1), name="keywords")
                save_tflite(optimize(graph), paths[0])
                if is_int8:
                    api.quantize_model(paths[0], x[:200], paths[1])
                pair.append(api.evaluate(paths[is_int8], seen, labels=labels).top1)
            shares.append(pair)
            print(f"seed {seed}: float {pair[0]:.4f}, int8 {pair[1]:.4f}", flush=True)
    return np.array(shares), scores_by_host(unheard)[:, -1].argmax(axis=1) == labels


def main() -> None:
    """Print what each tells."""
    shares, own = compared(*map(int, sys.argv[1:] or (5, 60)))
    means = shares.mean(axis=0)
    print(f"{len(own)} clips: float {means[0]:.4f}, int8 {means[1]:.4f}; own {own.mean():.4f}")


if __name__ == "__main__":
    main()
