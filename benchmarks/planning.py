"""``python -m benchmarks.planning [FOLDER] [--models NAME…]``: what large models cost the host.

Every command runs in a process of its own, on the .tflite files of a folder or, without one, on the
networks of ``benchmarks.nets``. Time is the processor's without imports, memory the peak of what is
resident, imports included; what several processes share is counted in each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.nets import NETS
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite

COMMANDS = {
    "interpreter": "from tinyrt import Interpreter; i = Interpreter(model); i.allocate_tensors(); "
    "planned = time.process_time(); i.invoke()",
    "inspect": "main(['inspect', model, '--json'])",
    "run": "main(['run', model, '-i', data, '-o', out + '.npz'])",
    "export": "main(['export', model, '-o', out, '--core', 'cortex-m4'])",
}
"""What is measured: allocating and running once, and three commands."""

MEASURE = """
import contextlib, io, json, sys, time
from pathlib import Path
model, data, out = sys.argv[1:]
import tinyrt.backends.numba.abi, tinyrt.export, tinyrt.memory.advice
def main(arguments):
    from tinyrt.cli.app import app
    with contextlib.redirect_stdout(io.StringIO()):
        app(arguments, standalone_mode=False)
planned = started = time.process_time()
{command}
# Not ru_maxrss, which begins with what the process had that started this one.
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
seconds = time.process_time() - started
print(json.dumps({{"seconds": seconds, "planned": planned - started, "bytes": peak}}))
"""


def measure(model: Path, command: str) -> dict[str, float]:
    """Processor seconds and peak bytes of a command, and the seconds until it was planned."""
    with tempfile.TemporaryDirectory() as folder:
        graph = read_tflite(model)
        inputs = [graph.value(name) for name in graph.fed]
        data = Path(folder) / "x.npz"
        np.savez(data, **{v.name: np.zeros(v.shape, v.dtype.numpy) for v in inputs})
        del graph
        code = MEASURE.format(command=COMMANDS[command])
        arguments = [sys.executable, "-c", code, str(model), str(data), str(Path(folder) / "out")]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def models_in(folder: Path, names: list[str]) -> list[Path]:
    """The .tflite files of a folder that is there, or networks that are written to it."""
    if not names:
        return sorted(folder.glob("**/*.tflite"))
    return [save_tflite(NETS[name](), folder / f"{name}.tflite") for name in names]


def table(found: dict[str, dict[str, Any]]) -> str:
    """Seconds to plan, and MB of each command, as Markdown."""
    lines = ["| model | file | plan | " + " | ".join(COMMANDS) + " |"]
    lines.append("|---" * (len(COMMANDS) + 3) + "|")
    for name, row in found.items():
        cells = [f"{row['file'] / 1e6:.1f} MB", f"{row['interpreter']['planned']:.1f} s"]
        cells += [f"{row[c]['bytes'] / 1e6:.0f} MB, {row[c]['seconds']:.1f} s" for c in COMMANDS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, and write the figures where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--models", nargs="+", default=list(NETS), choices=list(NETS))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        paths = models_in(asked.folder or Path(scratch), [] if asked.folder else asked.models)
        for path in paths:
            row: dict[str, Any] = {command: measure(path, command) for command in COMMANDS}
            found[path.stem] = {"file": path.stat().st_size, **row}
    print(table(found))
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
