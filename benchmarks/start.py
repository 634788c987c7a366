"""How long commands take to start: processor time, the least of many.

    TINYRT_ZOO=../shared python -m benchmarks.start [--times 30] [--write]

Each command is a process of its own, with Python's caches of bytecode filled. ``--write`` puts the
table into docs/run.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.tables.runs import markdown, zoo
from tools.page import write_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "run.md"
SAMPLES = 4


def processor_time(command: list[str], caches: Path | None = None) -> float:
    """Seconds of one run; ``caches`` is where what was compiled is kept, if not in its place."""
    env = os.environ | ({"TINYRT_CACHE": str(caches)} if caches else {})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(times: int) -> list[list[object]]:
    """Command and seconds."""
    python = sys.executable
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = zoo() / "models" / "dscnn_kws_int8.tflite"
        golden = np.load(zoo() / "golden" / "dscnn_kws_int8.npz")["inputs"]
        np.savez(folder / "x.npz", x=golden.reshape(-1, 49, 10, 1)[:SAMPLES])
        tinyrt = [python, "-m", "tinyrt"]
        run = [*tinyrt, "run", model, "-i", folder / "x.npz", "-o", folder / "y.npz"]
        commands = {
            "`import tinyrt`": ([python, "-c", "import tinyrt"], False),
            "`tinyrt --help`": ([*tinyrt, "--help"], False),
            "`tinyrt run`, a keyword spotter on four samples": ([*map(str, run)], False),
            "the same with empty caches": ([*map(str, run)], True),
        }
        found: list[list[object]] = []
        for title, (command, empty) in commands.items():
            processor_time(command)
            seconds = [
                processor_time(command, folder / f"caches {i}" if empty else None)
                for i in range(times)
            ]
            found.append([title, f"{min(seconds):.2f} s"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=30, help="runs of each command")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    options = parser.parse_args()
    table = markdown(("command", "takes"), measure(options.times))
    print(table)
    if options.write:
        write_table("start", table, PAGE)


if __name__ == "__main__":
    main()
