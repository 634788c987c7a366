"""Fetch the public models that the tests measure, and compute the answers they are held to.

    python -m tools.zoo [FOLDER]

``tools/zoo.json`` says where their authors publish them, at which commit and with which SHA-256
hash; nothing of it is part of this project, and each file keeps its authors' licence. FOLDER, by
default ``zoo/`` beside ``tests/``, gets

* ``models/``: the five reference models of MLPerf Tiny, int8 and, where published, float;
* ``models/public/``: models of other projects, with three inputs and answers each in ``NAME.npz``;
* ``data/``: real inputs;
* ``golden/``: for each int8 reference model four inputs, the answers, and for one of the inputs
  every intermediate tensor.

The answers are those of tflite-micro's reference kernels. What is there already is kept, so that a
second run fetches only what is missing. The tests look for ``zoo/``, or where TINYRT_ZOO says.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.files import write_atomic

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_suffix(".json")
HOST = "https://raw.githubusercontent.com"
SAMPLES = 3
"""Inputs of each model of ``models/public/``."""
ARENA = 1 << 24
"""Bytes that tflite-micro may use; its own guess is too small for some."""
WATCHED = 2
"""The input of a reference model whose intermediate tensors are kept."""
Array = NDArray[Any]


@dataclass(frozen=True)
class Source:
    """Where a file of the zoo comes from."""

    file: str
    repository: str
    commit: str
    path: str
    sha256: str

    def url(self, host: str = HOST) -> str:
        """Its address on a server that is laid out as GitHub's is."""
        return f"{host}/{self.repository}/{self.commit}/{self.path}"


def published() -> list[Source]:
    """All files that their authors publish."""
    return [
        Source(file, origin["repository"], origin["commit"], found["path"], found["sha256"])
        for origin in json.loads(RECORD.read_text())["published"]
        for file, found in origin["files"].items()
    ]


def unpublished() -> list[str]:
    """Files of a whole zoo that nobody publishes: conversions, and data without a licence."""
    return [
        file for group in json.loads(RECORD.read_text())["unpublished"] for file in group["files"]
    ]


def answers_of(file: str) -> str | None:
    """The file of answers that belongs to a model; None where none does."""
    if file.startswith("models/public/"):
        return file.removesuffix(".tflite") + ".npz"
    if file.startswith("models/") and file.endswith("_int8.tflite"):
        return file.replace("models/", "golden/", 1).removesuffix(".tflite") + ".npz"
    return None


def missing(folder: Path) -> list[str]:
    """What this command would add to a folder."""
    files = [source.file for source in published()]
    files += [answers for file in files if (answers := answers_of(file))]
    return [file for file in files if not (folder / file).is_file()]


def fetch(folder: Path, host: str = HOST) -> int:
    """Download what is missing, checked against its hash; how many files these were.

    Raises:
        ValueError: a file does not have its hash; it is not kept.
        OSError: the server is not reached, or has no such file.

    """
    import pooch

    pooch.get_logger().setLevel("WARNING")
    count = 0
    for source in published():
        goal = folder / source.file
        if goal.is_file():
            continue
        pooch.retrieve(source.url(host), f"sha256:{source.sha256}", goal.name, goal.parent)
        count += 1
    return count


def changed(folder: Path) -> list[str]:
    """Published files whose contents are not those of the record."""
    return [
        source.file
        for source in published()
        if hashlib.sha256((folder / source.file).read_bytes()).hexdigest() != source.sha256
    ]


def answer(folder: Path) -> int:
    """Compute the answers that are missing; how many files these were."""
    count = 0
    for source in published():
        answers = answers_of(source.file)
        if answers is None or (folder / answers).is_file():
            continue
        compute = golden if answers.startswith("golden/") else public_answers
        arrays = compute(folder / source.file)
        (folder / answers).parent.mkdir(parents=True, exist_ok=True)
        save = partial(np.savez_compressed, **arrays)  # type: ignore[arg-type]
        write_atomic(folder / answers, save)
        count += 1
    return count


def golden(path: Path) -> dict[str, Array]:
    """The answers for a reference model, and its intermediate tensors for one input."""
    from tflite_micro import runtime

    config = runtime.InterpreterConfig.kPreserveAllTensors
    model = runtime.Interpreter.from_file(str(path), arena_size=ARENA, intrepreter_config=config)
    inputs = _inputs(tuple(model.get_input_details(0)["shape"]))
    outputs, tensors = [], {}
    for sample, x in enumerate(inputs):
        model.set_input(x, 0)
        model.invoke()
        outputs.append(model.get_output(0).copy())
        if sample == WATCHED:
            tensors = {
                f"op{op:02}_t{tensor}": model.GetTensor(tensor, 0)["tensor_data"].copy()
                for op, tensor in _op_outputs(path)
            }
    return {
        "inputs": inputs,
        "outputs": np.stack(outputs),
        "intermediate_input_index": np.array(WATCHED, np.int32),
        **tensors,
    }


def _inputs(shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Two at random, one as smooth as what is recorded in the world, one of extremes."""
    rng = np.random.default_rng(0)
    random = rng.integers(-128, 128, (2, *shape))
    waves = np.sin(np.linspace(0, 20, int(np.prod(shape)))).reshape(shape)
    smooth = np.round(90 * waves + rng.normal(0, 8, shape)).clip(-128, 127)
    extremes = rng.choice([-128, 127], shape)
    return np.concatenate([random, smooth[None], extremes[None]]).astype(np.int8)


def _op_outputs(path: Path) -> Iterator[tuple[int, int]]:
    """Each op's number and the number of its first output."""
    from tflite.Model import Model

    graph = Model.GetRootAs(path.read_bytes()).Subgraphs(0)
    assert graph is not None
    for op in range(graph.OperatorsLength()):
        yield op, graph.Operators(op).Outputs(0)


def public_answers(path: Path) -> dict[str, Array]:
    """Inputs and answers of any model, each computed from a fresh state."""
    from tflite.Model import Model
    from tflite_micro import runtime

    graph = Model.GetRootAs(path.read_bytes()).Subgraphs(0)
    assert graph is not None
    rng = np.random.default_rng(0)
    found = {}
    for sample in range(SAMPLES):
        model = runtime.Interpreter.from_file(str(path), arena_size=ARENA)
        for i in range(graph.InputsLength()):
            details = model.get_input_details(i)
            x = _random(rng, tuple(details["shape"]), np.dtype(details["dtype"]))
            model.set_input(x, i)
            found[f"in{sample}_{i}"] = x
        model.invoke()
        for o in range(graph.OutputsLength()):
            found[f"tflm{sample}_{o}"] = model.get_output(o).copy()
    return found


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(dtype)
    if dtype.itemsize > 2 or dtype.kind == "b":
        return rng.integers(0, 4, shape).astype(dtype)  # indices and counts
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def main(arguments: list[str] | None = None) -> int:
    """Make a zoo; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.zoo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Path(os.environ.get("TINYRT_ZOO") or ROOT / "zoo")
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--host", default=HOST, help="a mirror, laid out as %(default)s is")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    try:
        fetched = fetch(folder, options.host)
    except (OSError, ValueError) as error:
        print(f"zoo: {error}", file=sys.stderr)
        print("  try: run it again; what has arrived is kept", file=sys.stderr)
        return 1
    if wrong := changed(folder):
        print(f"zoo: not as published: {', '.join(wrong)}", file=sys.stderr)
        print("  try: delete these and run it again", file=sys.stderr)
        return 1
    answered = answer(folder)
    print(f"zoo: {fetched} files fetched, {answered} files of answers computed, in {folder}")
    if folder.resolve() != ROOT / "zoo":
        print(f"for the tests: export TINYRT_ZOO={folder.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
