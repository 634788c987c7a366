"""Every .tflite and .onnx model below a folder: read or refused, exact or not, and what it costs.

    python -m benchmarks.public FOLDER [--core cortex-m4] [--no-device] [--jobs 2] [--limit 120]
                                       [--write] [-o DIR]

Answers are compared with those in ``NAME.npz`` beside a model (``in<sample>_<i>``, and
``tflm<sample>_<o>``, ``litert<sample>_<o>`` or ``onnxruntime<sample>_<o>``); where there are none,
with those of tflite-micro, LiteRT's reference kernels or onnxruntime, as far as they are installed,
on seeded inputs. Each model runs in processes of its own, which end after ``--limit`` seconds. What
the columns mean is in docs/compatibility.md; ``--write`` puts the table there. The figures go to
``public.md`` and ``public.json`` in the folder of ``-o``.

Exits with 1 where a model meets a defect: anything but an answer or a named refusal, or an answer
that differs and comes under no documented rule.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.public_answers import HYBRID, Answers, Verdict, judge
from benchmarks.public_hybrid import layers_apart
from benchmarks.public_model import Read, is_onnx, litert, on_core, onnxruntime, read, stored, tflm
from benchmarks.public_step import LATE, run_step
from tinyrt.emulate import toolchain
from tinyrt.errors import TinyrtError
from tinyrt.export import find_core
from tinyrt.files import write_atomic
from tinyrt.text import message
from tools.page import write_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compatibility.md"
NAME = "models"
"""What the page calls the table."""
PACKAGES = {"TFLM": "tflite_micro", "LiteRT": "ai_edge_litert", "onnxruntime": "onnxruntime"}
NOTHING = "–"
LONGEST = 400
"""Characters of a cell."""


@dataclass(frozen=True)
class Row:
    """What became of a model; bytes and counts are None where they are not known.

    ``peer`` gave the answers that those of tinyrt were compared with.
    """

    name: str
    refused: str = ""
    answers: str = ""
    word: str = ""
    peer: str = ""
    defect: str = ""
    arena: int | None = None
    core_arena: int | None = None
    tflm_arena: int | None = None
    code: int | None = None
    weights: int | None = None
    instructions: int | None = None
    not_on_core: str = ""


@dataclass(frozen=True)
class Options:
    """How models are run: for which core, whether on it, and for how many seconds each."""

    core: str = "cortex-m4"
    device: bool = True
    limit: float = 120.0


def models_in(folder: Path) -> list[Path]:
    """All models below a folder, in order."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in (".tflite", ".onnx"))
    return sorted(path for path in found if path.is_file())


def row_of(path: Path, name: str, options: Options) -> Row:
    """Try one model, in processes of its own; whatever its archive holds, there is a row."""
    try:
        return _tried(path, name, options)
    except Exception as error:
        return Row(name, defect=f"its .npz file: {type(error).__name__}: {error}")


def _tried(path: Path, name: str, options: Options) -> Row:
    end = time.monotonic() + options.limit
    inputs, answers = stored(path)
    done = run_step(read, path, inputs, options.core, seconds=options.limit)
    if done.value is None:
        return Row(name, refused=done.refused, defect=done.failed)
    model: Read = done.value
    row = Row(name, arena=model.arena, core_arena=model.core_arena)
    row = _compared(row, path, model, answers, end)
    if not options.device or row.defect:
        return row
    left = end - time.monotonic()
    done = run_step(on_core, path, inputs, options.core, left, seconds=left)
    if done.value is None:
        # How long an emulator takes is no fault of the model's.
        refused, failed = (LATE, "") if done.failed == LATE else (done.refused, done.failed)
        return replace(row, defect=failed, not_on_core=refused, core_arena=None)
    costs: dict[str, Any] = done.value
    wrong = "" if costs.pop("agrees") else f"{options.core} answers other than the host"
    return replace(row, defect=wrong, **costs)


def _compared(row: Row, path: Path, model: Read, answers: dict[str, Answers], end: float) -> Row:
    """The row with its verdict; peers are asked for what the archive has not."""
    answers = dict(answers)

    def asked(peer: str, step: Callable[..., Any]) -> Any:
        if find_spec(PACKAGES[peer]) is None:
            return None
        return run_step(step, path, model.inputs, seconds=end - time.monotonic()).value

    if not is_onnx(path) and (ran := asked("TFLM", tflm)) is not None:
        found, arena = ran
        row = replace(row, tflm_arena=arena)
        answers.setdefault("TFLM", found)
    verdict = _verdict(model, answers)
    peer, step = ("onnxruntime", onnxruntime) if is_onnx(path) else ("LiteRT", litert)
    doubtful = verdict.word in ("not compared", "differs") and peer not in answers
    if doubtful and (found := asked(peer, step)) is not None:
        answers[peer] = found
        verdict = _verdict(model, answers)
    if HYBRID in model.rules and verdict.word in ("by rule", "differs"):
        verdict = _verdict(model, answers, asked("LiteRT", layers_apart))
    defect = f"its answer {verdict.text}" if verdict.word == "differs" else ""
    told = {"answers": verdict.text, "word": verdict.word, "peer": verdict.peer}
    return replace(row, defect=defect, **told)


def _verdict(model: Read, answers: dict[str, Answers], by_layer: float | None = None) -> Verdict:
    return judge(model.outputs, answers, model.rules, model.near, by_layer)


def rows_of(folder: Path, options: Options, jobs: int) -> Iterator[Row]:
    """A row for each model below a folder, as soon as those before it are there."""
    paths = models_in(folder)
    names = [str(path.relative_to(folder)) for path in paths]
    with ThreadPoolExecutor(jobs) as threads:
        yield from threads.map(row_of, paths, names, [options] * len(paths))


def line_of(row: Row) -> str:
    """The line of the table."""
    read = "yes"
    if row.defect:
        read = f"**defect**: {row.defect}"
    elif row.refused:
        read = f"refused: {row.refused}"
    elif row.not_on_core:
        read = f"yes; not on the core: {row.not_on_core}"
    numbers = (row.arena, row.core_arena, row.tflm_arena, row.code, row.weights, row.instructions)
    cells = ["`" + row.name.replace("`", "'") + "`", read, row.answers or NOTHING]
    cells += [NOTHING if number is None else f"{number:,}" for number in numbers]
    return "| " + " | ".join(map(_shown, cells)) + " |"


def _shown(cell: str) -> str:
    """Text from files as a cell of a table in Markdown."""
    return message(cell, LONGEST).replace("|", "\\|").replace("<", "&lt;")


def header(core: str) -> str:
    """The first lines of the table."""
    columns = ("model", "read", "answers", "arena, host", f"arena, {core}", "arena, TFLM")
    columns += ("code", "weights", "instructions")
    return "| " + " | ".join(columns) + " |\n|" + "---|" * len(columns)


def summary(rows: Sequence[Row]) -> str:
    """How many models came to what end."""
    words = Counter(row.word for row in rows if not row.defect)
    refused = sum(bool(row.refused) for row in rows)
    defects = sum(bool(row.defect) for row in rows)
    counts = {
        "exact": words["exact"],
        "float": words["float"],
        "by rule": words["by rule"],
        "not compared": words["not compared"],
        "refused": refused,
        "defects": defects,
    }
    return f"{len(rows)} models: " + ", ".join(f"{count} {what}" for what, count in counts.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.public",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--core", default="cortex-m4")
    parser.add_argument("--no-device", action="store_true", help="run nothing in the emulator")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="models at a time")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each model")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args(arguments)
    if not models_in(options.folder):
        parser.error(f"there is no .tflite and no .onnx file below {options.folder}")
    try:
        core = find_core(options.core)
    except TinyrtError as error:
        parser.error(str(error))
    if not options.no_device and not toolchain.knows(core):
        parser.error(f"{core.compiler} does not build for {core.name}: see --no-device")
    rows, lines = [], [header(core.name)]
    print(lines[0])
    how = Options(core.name, not options.no_device, options.limit)
    for row in rows_of(options.folder, how, max(1, options.jobs)):
        rows.append(row)
        lines.append(line_of(row))
        print(lines[-1], flush=True)
    told = summary(rows)
    print(f"\n{told}")
    table = "\n".join([*lines, "", f"{told}."])
    options.output.mkdir(parents=True, exist_ok=True)
    figures = json.dumps([asdict(row) for row in rows], indent=1)
    for file, text in (("public.md", table), ("public.json", figures)):
        write_atomic(options.output / file, lambda out, text=text: out.write(f"{text}\n".encode()))
    if options.write:
        write_table(NAME, table, PAGE)
    return int(any(row.defect for row in rows))


if __name__ == "__main__":
    sys.exit(main())
