"""The same bytes from convert, quantize, export and train, whatever the machine and its settings.

    python -m tests.reproducible [--json]

runs all four in a process of its own for each row of a table of environments, and compares the
SHA-256 of every file. Instruction sets are taken away from BLAS, NumPy, LLVM and the C library by
the variables that each of them reads. With ``TINYRT_ZOO``, a model of MLPerf Tiny is quantised too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyrt.train.recipes.recipe import Dataset

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Environment:
    """Where a process runs."""

    variables: dict[str, str] = field(default_factory=dict)
    folder: str = "out"
    umask: int = 0o022
    cpus: int | None = None


def numpy_without_simd() -> dict[str, str]:
    """The variable that leaves NumPy the instructions of the oldest CPU that it runs on."""
    from numpy._core import _multiarray_umath as umath

    there = [f for f in umath.__cpu_dispatch__ if umath.__cpu_features__.get(f)]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(there)}


LIBC = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX,-FMA,-FMA4,-AVX512F,-AVX512VL"}
OLD_LLVM = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
NO_FMA = {"NUMBA_CPU_NAME": "sandybridge", "NUMBA_CPU_FEATURES": "+sse4.2,+avx"}
HASWELL = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2"}
AWAY = {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"}


def other_settings() -> Environment:
    """All at once but what Numba compiles for."""
    variables = {**AWAY, **LIBC, **numpy_without_simd(), "OPENBLAS_CORETYPE": "Prescott"}
    return Environment(variables, "another folder/with a longer name", 0o077, 1)


def table() -> dict[str, Environment]:
    """What is varied, one thing a row, and at last everything together."""
    rows = {"as it is": Environment()}
    rows |= {f"hash seed {s}": Environment({"PYTHONHASHSEED": s}) for s in ("0", "1", "2")}
    rows |= {f"locale {c}": Environment({"LC_ALL": c}) for c in ("C", "POSIX", "tr_TR.UTF-8")}
    rows |= {f"time zone {z}": Environment({"TZ": z}) for z in ("UTC", "Pacific/Kiritimati")}
    rows["another folder"] = Environment(folder="another folder/with a longer name")
    rows["umask 077"] = Environment(umask=0o077)
    rows["one CPU"] = Environment(cpus=1)
    rows["one thread of BLAS"] = Environment({"OPENBLAS_NUM_THREADS": "1"})
    for kernel in ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX"):
        rows[f"BLAS for {kernel}"] = Environment({"OPENBLAS_CORETYPE": kernel})
    rows["NumPy without SIMD"] = Environment(numpy_without_simd())
    rows["C library without AVX and FMA"] = Environment(LIBC)
    rows["LLVM for Haswell"] = Environment(HASWELL)
    rows["LLVM for Sandy Bridge, which has no FMA"] = Environment(NO_FMA)
    rows["LLVM for the first x86-64"] = Environment(OLD_LLVM)
    away = other_settings()
    everything = {**away.variables, **OLD_LLVM}
    rows["all together"] = Environment(everything, away.folder, away.umask, away.cpus)
    return rows


def digests(environment: Environment, scratch: Path, jobs: str = "all") -> dict[str, str]:
    """SHA-256 of each file that a process writes there."""
    home = Path(tempfile.mkdtemp(dir=scratch))
    out = home / environment.folder
    out.mkdir(parents=True)
    given = {name: text for name, text in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    variables = {**given, "PYTHONPATH": str(ROOT), **environment.variables}
    command = [sys.executable, "-W", "ignore", "-m", "tests.reproducible", "--work", str(out)]
    command += ["--jobs", jobs]
    if environment.cpus is not None:
        command += ["--cpus", str(environment.cpus)]
    done = subprocess.run(
        command,
        env=variables,
        cwd=out,
        umask=environment.umask,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{environment}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return digests_of(out)


def digests_of(out: Path) -> dict[str, str]:
    """SHA-256 of each file below."""
    files = sorted(p for p in out.rglob("*") if p.is_file())
    return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def differences(found: dict[str, str], other: dict[str, str]) -> list[str]:
    """Files that only one has, or that differ."""
    return sorted(name for name in found | other if found.get(name) != other.get(name))


def write_onnx(path: Path) -> None:
    """A network of everything that is folded, fused and computed: weights from a fixed seed."""
    import numpy as np
    import onnx

    from tests.convert.onnx_build import OnnxModel

    net = OnnxModel()
    x = net.input(1, 3, 12, 12)
    y = net.op("Conv", x, net.weights(8, 3, 3, 3), pads=[1, 1, 1, 1])
    scale = net.op("Exp", net.op("Pow", net.weights(8), net.const(3.0)))
    others = [net.weights(8), net.weights(8), net.const(np.linspace(0.1, 3, 8))]
    y = net.op("BatchNormalization", y, scale, *others)
    half = net.op("Mul", y, net.const(0.5))
    erf = net.op("Erf", net.op("Mul", y, net.const(2**-0.5)))
    y = net.op("Mul", half, net.op("Add", erf, net.const(1.0)))
    y = net.op("Conv", y, net.weights(8, 1, 3, 3), group=8)
    y = net.op("Tanh", net.op("Conv", y, net.weights(16, 8, 1, 1)))
    y = net.op("Flatten", net.op("GlobalAveragePool", y))
    y = net.op("Softmax", net.op("Gemm", y, net.weights(16, 10), net.weights(10)))
    onnx.save(net.model(y), path)


def noise() -> Dataset:
    """Images that look like nothing, for whose labels nobody has to look."""
    import numpy as np

    from tinyrt.train.recipes.recipe import Dataset

    rng = np.random.default_rng(2)
    x, y = rng.uniform(0, 1, (96, 8, 8, 1)).astype(np.float32), rng.integers(0, 10, 96)
    return Dataset(x, y, x, y)


def train(out: Path, jobs: str) -> tuple[int, int]:
    """A convolutional and a recurrent network, the first also for int8; samples of the second."""
    import numpy as np

    from tinyrt.convert.passes import optimize
    from tinyrt.convert.tflite.writer import save_tflite
    from tinyrt.train import Adam, trace
    from tinyrt.train.fit import FitConfig, fit
    from tinyrt.train.nn import Flatten, LayerNorm, Linear, Sequential, Tanh
    from tinyrt.train.qat import QatConfig, QatModel, Scales
    from tinyrt.train.recipes.digits import digits_cnn, split_digits
    from tinyrt.train.schedules import cosine_lr
    from tinyrt.train.sequence import GRU, MultiHeadAttention

    rng, count = np.random.default_rng(0), 192 if jobs == "all" else 96
    data = split_digits(0) if jobs == "all" else noise()
    x, y = data.x_train[:count], data.y_train[:count]
    steps = 8 if jobs == "all" else 4

    def rate(step, steps):
        return cosine_lr(step, steps, 1e-2)

    def run(module, samples, epochs):
        config = FitConfig(epochs, batch=32, clip_norm=1.0, progress=False)
        fit(module, Adam(module.parameters()), samples, y, config, rng=rng, lr=rate)

    net = digits_cnn(rng)
    run(net, x, 3)
    graph = trace(net, (8, 8, 1), name="digits")
    save_tflite(optimize(graph), out / "digits.tflite")
    learner = QatModel(
        optimize(graph), x, source=graph, config=QatConfig(activation_scales=Scales.LSQ)
    )
    run(learner, x, 1)
    save_tflite(learner.deployed(), out / "digits_trained_int8.tflite")
    attention = MultiHeadAttention(16, 2, rng=rng)
    layers = [GRU(64 // steps, 16, rng=rng), attention, LayerNorm(16), Tanh(), Flatten()]
    recurrent = Sequential(*layers, Linear(steps * 16, 10, rng=rng))
    shape = steps, 64 // steps
    run(recurrent, x.reshape(-1, *shape), 2)
    save_tflite(optimize(trace(recurrent, shape, name="lines")), out / "lines.tflite")
    return shape


def work(out: Path, jobs: str) -> None:
    """Write what convert, quantize, export and train make."""
    import numpy as np

    from tinyrt.api import convert_model
    from tinyrt.api.quantize import quantize_model
    from tinyrt.export import export_c
    from tinyrt.quantize import PRESETS, Preset

    best = PRESETS[Preset.BEST]
    # The best preset takes most of the time, and is among all jobs.
    usual = best if jobs == "all" else PRESETS[Preset.BALANCED]
    rng = np.random.default_rng(1)
    write_onnx(out / "net.onnx")
    convert_model(out / "net.onnx", out / "net.tflite")
    count = 24 if jobs == "all" else 8
    samples = rng.uniform(-1, 1, (count, 12, 12, 3)).astype(np.float32)
    np.savez(out / "samples.npz", x=samples)
    quantize_model(out / "net.tflite", out / "samples.npz", out / "net_int8.tflite", config=usual)
    export_c(out / "net_int8.tflite", out / "net_c")
    shape = train(out, jobs)
    lines = rng.uniform(0, 1, (count, *shape))
    quantize_model(out / "lines.tflite", lines, out / "lines_int8.tflite")
    if jobs != "all":
        return
    export_c(out / "lines_int8.tflite", out / "lines_c")
    speech = Path(os.environ.get("TINYRT_ZOO", ""), "data", "kws01.npz")
    if speech.is_file():
        data = np.load(speech)
        x = ((data["x_int8"].astype("f4") - data["zero_point"]) * data["scale"]).astype("f4")
        model = speech.parents[1] / "models" / "dscnn_kws.onnx"
        quantize_model(model, x[:100], out / "dscnn.tflite")
        quantize_model(model, x[:100], out / "dscnn_best.tflite", config=best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", default="all", help=argparse.SUPPRESS)
    parser.add_argument("--cpus", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work is not None:
        if args.cpus is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cpus])
        work(args.work, args.jobs)
        return
    results: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        usual: dict[str, str] = {}
        for name, environment in table().items():
            found = digests(environment, Path(scratch))
            usual = usual or found
            results[name] = differences(usual, found)
            if not args.json:
                wrong = ", ".join(results[name])
                print(f"{name:<42}{len(found):4} files, {wrong or 'the same'}", flush=True)
    if args.json:
        print(json.dumps(results, indent=1))
    if any(results.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
