"""What sharing work costs, and what it is worth: ``python -m benchmarks.shared_work``.

``eval``, ``quantize --calibrator auto`` and ``debug --bisect`` of zoo models (``TINYRT_ZOO``) on
random samples, once by this process alone and once by two workers. Processor seconds are counted,
so that other programs do not matter: those of the process that asks, which come one after the
other, and those of its workers, which are shared out. Two numbers of samples tell what a further
1,000 take. The time alone over that of the process that asks is how many times faster any number of
workers can be.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinyrt import api
from tinyrt.files import scratch_folder
from tinyrt.quantize import QuantConfig
from tinyrt.quantize.config import Calibrator
from tinyrt.quantize.mixed.budget import Budget


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of long work.

    Attributes:
        name: as the command line says it.
        shape: of a sample.
        samples: how many, and how many in the longer run.
        run: from the zoo, samples, a folder and a number of workers.

    """

    name: str
    shape: tuple[int, ...]
    samples: tuple[int, int]
    run: Callable[[Path, Path, Path, int], object]


def _evaluated(zoo: Path, data: Path, folder: Path, workers: int) -> object:
    del folder
    return api.evaluate(zoo / "mobilenet_vww_int8.tflite", data, workers=workers)


def _evaluated_in_float(zoo: Path, data: Path, folder: Path, workers: int) -> object:
    del folder
    return api.evaluate(zoo / "mobilenet_vww_float.tflite", data, workers=workers)


def _quantized(zoo: Path, data: Path, folder: Path, workers: int) -> object:
    config = QuantConfig(calibrator=Calibrator.AUTO)
    model, output = zoo / "mobilenet_vww_float.tflite", folder / "int8.tflite"
    return api.quantize_model(model, data, output, config=config, workers=workers)


def _bisected(zoo: Path, data: Path, folder: Path, workers: int) -> object:
    model, int8 = zoo / "resnet8_float.tflite", folder / "int8.tflite"
    samples = np.random.default_rng(1).random((100, 32, 32, 3), np.float32)
    api.quantize_model(model, samples, int8, config=QuantConfig())
    return api.bisect_model(model, int8, data, target=Budget(min_sqnr_db=45.0), workers=workers)


WORKS = {
    "eval": Work("eval, int8", (96, 96, 3), (500, 1_500), _evaluated),
    "float": Work("eval, float", (96, 96, 3), (500, 1_500), _evaluated_in_float),
    "quantize": Work("quantize --calibrator auto", (96, 96, 3), (200, 600), _quantized),
    "bisect": Work("debug --bisect", (32, 32, 3), (1_000, 4_000), _bisected),
}


def spent(work: Work, samples: int, workers: int) -> tuple[float, float]:
    """Processor seconds of this process, and of its workers."""
    zoo = Path(os.environ["TINYRT_ZOO"]) / "models"
    with scratch_folder() as folder:
        data = folder / "data.npz"
        x = np.random.default_rng(0).random((samples, *work.shape), np.float32)
        np.savez(data, x=x)
        before = time.process_time()
        work.run(zoo, data, folder, workers)
        own = time.process_time() - before
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own, children.ru_utime + children.ru_stime


def main() -> None:
    """Print a line for each piece of work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--works", nargs="+", choices=tuple(WORKS), default=list(WORKS))
    parser.add_argument("--once", nargs=2, type=int, help="samples and workers, in this process")
    given = parser.parse_args()
    if given.once is not None:
        (name,) = given.works
        print(*spent(WORKS[name], *given.once))
        return
    print("                              seconds of processor time      of 1,000 samples more")
    print("work                        samples alone  asking  workers   alone  asking  at most")
    for name in given.works:
        work = WORKS[name]
        alone = [_measured(name, n, 1)[0] for n in work.samples]
        shared = [_measured(name, n, 2) for n in work.samples]
        more = (work.samples[1] - work.samples[0]) / 1000
        own, others = shared[1]
        further, asking = (alone[1] - alone[0]) / more, (own - shared[0][0]) / more
        print(
            f"{work.name:<28}{work.samples[1]:>7,}{alone[1]:6.1f}{own:8.1f}{others:9.1f}"
            f"{further:8.1f}{asking:8.1f}{further / asking:9.1f}",
            flush=True,
        )


def _measured(name: str, samples: int, workers: int) -> tuple[float, float]:
    """In a process of its own, of one thread."""
    one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "benchmarks.shared_work", "--works", name]
    ran = subprocess.run(
        [*command, "--once", str(samples), str(workers)],
        env={**os.environ, **one},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    own, others = map(float, ran.stdout.split())
    return own, others


if __name__ == "__main__":
    main()
