"""Random inputs of every zoo model on every fast backend, against tflite-micro.

python -m tests.interpreter.zoo [--samples 1000] [--seed 7] [--models NAME ...]

Prints, per model, how many samples each backend answers as TFLM does, in every element; exits 1
unless these are all. The tests run a few; this is for releases.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinyrt.interpreter import load

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
BACKENDS = ("numba", "native")
SAMPLES = 1000


def tflm_answers(path: Path, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """The first output for each sample, by TFLM's reference kernels."""
    import tflite_micro

    interpreter = tflite_micro.runtime.Interpreter.from_file(str(path))
    found = []
    for sample in x:
        interpreter.set_input(sample[None], 0)
        interpreter.invoke()
        found.append(interpreter.get_output(0)[0])
    return np.stack(found)


def equal_samples(path: Path, samples: int, seed: int) -> dict[str, int]:
    """Backend -> samples whose answers equal TFLM's in every element."""
    models = {backend: load(path, backend=backend) for backend in BACKENDS}
    shape = models[BACKENDS[0]].graph.input_values[0].shape[1:]
    x = np.random.default_rng(seed).integers(-128, 128, (samples, *shape), np.int8)
    expected = tflm_answers(path, x)
    same = {backend: np.asarray(model(x)) == expected for backend, model in models.items()}
    return {name: int(hits.reshape(samples, -1).all(axis=1).sum()) for name, hits in same.items()}


def main() -> int:
    """Run all; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zoo", type=Path, default=os.environ.get("TINYRT_ZOO", "../shared"))
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--models", nargs="*", default=MODELS)
    options = parser.parse_args()
    status = 0
    for name in options.models:
        path = options.zoo / "models" / f"{name}_int8.tflite"
        found = equal_samples(path, options.samples, options.seed)
        counts = ", ".join(f"{n} {hits} of {options.samples}" for n, hits in found.items())
        print(f"{name}: {counts}", flush=True)
        status |= any(hits != options.samples for hits in found.values())
    return status


if __name__ == "__main__":
    sys.exit(main())
