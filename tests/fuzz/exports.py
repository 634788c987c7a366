"""Mutants that load, exported and built with sanitizers: no report, and the reference's answers.

The kernels are built once for each core; some hundred models are then compiled and linked to one
program, which runs them one after the other.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz import checks
from tests.fuzz.runner import Campaign, keep_file, run
from tests.fuzz.values import Rng
from tinyrt import kernels_c
from tinyrt.api.reading import open_model
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import DefectError, TinyrtError
from tinyrt.export.bundle import render_project
from tinyrt.export.options import ExportOptions
from tinyrt.export.project import ExportedProject
from tinyrt.export.request import Request
from tinyrt.export.target import Core, find_core, find_optimize

HERE = Path(__file__).parent
RUNS = 2
SANITIZE = (
    *("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all", "-g1"),
    *("-DTINYRT_ASSERT=assert", "-include", "assert.h"),
)
WARNINGS = (
    *("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wvla", "-Wdouble-promotion", "-Werror"),
)
CORES = ("cortex-m3", "host-avx512", "cortex-m3", "host-avx2")
"""Whose kernels run here, with the compiler's options for them; portable C more often."""
TIMEOUT_S = 120


@dataclass(frozen=True)
class Model:
    """One model of a batch, with the data it is run on."""

    name: str
    source: Path
    project: ExportedProject
    state_bytes: int
    feeds: list[dict[str, np.ndarray]]
    wanted: list[np.ndarray]


def campaign(kind: str, seed: int, count: int, deadline: float, folder: Path) -> dict[str, Any]:
    """Export mutants until that many have been run, or the time has come.

    Returns what was done, as the file in the folder says it, too.
    """
    path = folder / f"export-{kind}-{seed}.json"
    progress = Campaign.load(path, kind, seed)
    batch = 0
    while progress.states["exported"] < count and time.monotonic() < deadline:
        core = find_core(CORES[(progress.next // 400) % len(CORES)])
        place = folder / "batch"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        collector = _Collector(place, core)
        run(progress, folder / "findings", count=progress.next + 400, check=collector)
        _build_and_run(progress, place, core, folder)
        batch += 1
        path.write_text(json.dumps(progress.as_dict(), indent=1) + "\n")
    return progress.as_dict()


class _Collector:
    """As a check of mutants: writes those that can be exported into the batch's folder."""

    def __init__(self, place: Path, core: Core) -> None:
        self._place, self._core = place, core

    def __call__(self, kind: str, data: bytes, folder: Path, rng: Rng) -> str:
        path = folder / f"model.{kind}"
        path.write_bytes(data)
        with checks.quietly():
            try:
                return self._collect(path, rng)
            except DefectError:
                raise
            except TinyrtError:
                return checks.REFUSED

    def _collect(self, path: Path, rng: Rng) -> str:
        graph = open_model(path)
        if not checks.is_small(graph):
            return checks.OPENED
        if rng.random() < 0.2:  # as other tools wrote it, with nothing optimised
            graph = parse_tflite(path.read_bytes()) if path.suffix == ".tflite" else graph
        feeds = checks.inputs_of(graph, rng, RUNS)
        wanted = checks.answers(graph, feeds, "reference")
        name = f"m{sum(1 for _ in self._place.glob('*.json'))}"
        made_for = find_optimize(("speed", "balanced", "size")[int(rng.integers(3))])
        options = ExportOptions(by_rows=bool(rng.random() < 0.3))
        request = Request(self._core, made_for, options)
        project, files = render_project(replace(graph, name=name), self._place, request)
        for file, text in files.items():
            if file.startswith(f"{project.name}"):
                # The kernels lie in folders of their own here, under their own names.
                (self._place / file).write_text(text.replace('"tinyrt/', '"'))
        (self._place / f"{name}_all.c").write_text(_wrapper(project))
        shutil.copy(path, self._place / f"{name}{path.suffix}")
        np.savez(self._place / f"{name}.npz", *wanted)
        ordered = [np.ascontiguousarray(f[p.name]).tobytes() for f in feeds for p in project.inputs]
        (self._place / f"{name}.in").write_bytes(b"".join(ordered))
        order = [graph.answers.index(port.name) for port in project.outputs]
        facts = {"order": order, "kernels": " ".join(project.kernels[:3])}
        (self._place / f"{name}.json").write_text(json.dumps(facts))
        return checks.RAN


def _wrapper(project: ExportedProject) -> str:
    """A model as one source file, with its entry for the driver."""
    name, big = project.name, project.name.upper()
    fields = [f"input_{i}" for i in range(len(project.inputs))]
    fields += [f"output_{i}" for i in range(len(project.outputs))]
    io = "".join(f"    io.{f} = ports[{i}];\n" for i, f in enumerate(fields))
    sizes = ", ".join(f"{big}_{f.upper()}_BYTES" for f in fields)
    has_state = project.state_bytes > 0
    return f"""#include "{name}_weights.c"
#include "{name}.c"
#include "driver.h"

static int {name}_run(void *const *ports, void *arena, void *state) {{
    {name}_io_t io = {{0}};
{io}    (void)state;
    return {name}_invoke(&io, arena{", state" if has_state else ""});
}}

static const size_t {name}_sizes[] = {{{sizes}}};

extern const entry_t {name}_entry;
const entry_t {name}_entry = {{
    "{name}", {name}_run, {f"{name}_reset" if has_state else "NULL"},
    {big}_ARENA_BYTES, {big}_ARENA_ALIGNMENT, {f"{big}_STATE_BYTES" if has_state else 0},
    {len(project.inputs)}, {len(project.outputs)}, {name}_sizes
}};
"""


def _build_and_run(progress: Campaign, place: Path, core: Core, folder: Path) -> None:
    names = sorted((p.stem for p in place.glob("*.json")), key=lambda n: int(n[1:]))
    built = [name for name in names if _compiled(progress, place, core, name, folder)]
    if not built:
        return
    entries = "".join(f"extern const entry_t {n}_entry;\n" for n in built)
    table = ", ".join(f"&{n}_entry" for n in built)
    (place / "entries.c").write_text(
        f'#include "driver.h"\n{entries}const entry_t *const entries[] = {{{table}}};\n'
        f"const size_t entry_count = {len(built)};\n"
    )
    program = place / "program"
    objects = [place / f"{n}.o" for n in built]
    sources = [HERE / "driver.c", place / "entries.c"]
    done = _run(
        ["gcc", "-std=gnu99", f"-DRUNS={RUNS}", f"-I{HERE}", *SANITIZE, *sources, *objects,
         library(core, folder), "-lm", "-o", program]
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the batch does not link:\n{done.stderr[-4000:]}")
    _run_batch(progress, place, built, program, folder)


def _compiled(progress: Campaign, place: Path, core: Core, name: str, folder: Path) -> bool:
    command = ["gcc", "-std=c99", "-O0", *core.flags * (not core.prefix), *WARNINGS, *SANITIZE]
    command += [*_includes(core), f"-I{HERE}", f"-I{place}"]
    done = _run([*command, "-c", place / f"{name}_all.c", "-o", place / f"{name}.o"])
    if done.returncode:
        _record(progress, place, name, "does not compile", _first_error(done.stderr), done.stderr,
                folder)  # fmt: skip
    return done.returncode == 0


def _run_batch(
    progress: Campaign, place: Path, built: list[str], program: Path, folder: Path
) -> None:
    """Run the program; where a model ends it, go on behind that one."""
    inputs = b"".join((place / f"{n}.in").read_bytes() for n in built)
    first = 0
    while first < len(built):
        try:
            done = subprocess.run(
                [program, str(first)], input=inputs, capture_output=True, timeout=TIMEOUT_S,
                env={"ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0"}, check=False,
            )  # fmt: skip
            code, text, output = done.returncode, done.stderr.decode(errors="replace"), done.stdout
        except subprocess.TimeoutExpired as error:
            code, text, output = -1, (error.stderr or b"").decode(errors="replace"), b""
        reached = max(int(s.split()[1]) for s in text.splitlines() if s.startswith("model "))
        _compare(progress, place, built[first : reached + (code == 0)], output, folder)
        if code:
            name = built[reached]
            report = text.rpartition(f"model {reached}\n")[2]
            _record(progress, place, name, "sanitizer", _sanitizer_place(report), report, folder)
        first = reached + 1


def _compare(
    progress: Campaign, place: Path, names: list[str], output: bytes, folder: Path
) -> None:
    at = 0
    for name in names:
        with np.load(place / f"{name}.npz") as archive:
            wanted = [archive[f"arr_{i}"] for i in range(len(archive.files))]
        facts = json.loads((place / f"{name}.json").read_text())
        order = facts["order"]
        count, problems = len(wanted) // RUNS, []
        for run_, i in itertools.product(range(RUNS), order):
            want = wanted[run_ * count + i]
            found = np.frombuffer(output[at : at + want.nbytes], want.dtype)
            at += want.nbytes
            if not checks.close(found.reshape(want.shape), want):
                text = f"found {found[:40]}\nwanted {want.reshape(-1)[:40]}"
                problems.append((f"{facts['kernels']}, run {run_}", text))
        for where, text in problems[:1]:
            _record(progress, place, name, "wrong answer", where, text, folder)
        progress.states["exported"] += 1


def _record(
    progress: Campaign, place: Path, name: str, what: str, where: str, detail: str, folder: Path
) -> None:
    """Note a finding, and keep the mutant and its source."""
    source = next(place.glob(f"{name}.{progress.kind}"))
    index = int.from_bytes(hashlib.sha256(source.read_bytes()).digest()[:4], "big")
    code = (place / f"{name}.c").read_text()
    progress.add(index, what, where, f"{detail[:5000]}\n\n{code[:3000]}")
    keep_file(progress, index, source.read_bytes(), folder / "findings")


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error:" in line]
    return lines[0].partition("error:")[2].strip()[:80] if lines else "?"


def _sanitizer_place(text: str) -> str:
    """What the sanitizer says, and the innermost function of ours."""
    said = next((s for s in text.splitlines() if "ERROR" in s or "runtime error" in s), "")
    said = said or next(iter(text.splitlines()), "ended without a word")
    where = next((s.split(" in ")[1].split()[0] for s in text.splitlines()
                  if " in tinyrt_" in s), "")  # fmt: skip
    return f"{said.split('runtime error:')[-1].split(' on ')[0].strip()[-70:]} {where}"


def _includes(core: Core) -> list[str]:
    return [f"-I{folder}" for folder in kernels_c.header_folders(core.isa.value)]


def library(core: Core, folder: Path) -> Path:
    """All kernels for the core, built with sanitizers; built anew where a source has changed."""
    own = kernels_c.OWN_SOURCES.get(core.isa.value, kernels_c.SRC)
    names = sorted({p.stem for p in (*kernels_c.SRC.glob("*.c"), *own.glob("*.c"))})
    files = kernels_c.closure(names, core.isa.value)
    digest = hashlib.sha256("".join(p.read_text() for p in files).encode()).hexdigest()[:16]
    place = folder / f"kernels-{core.name}-{digest}"
    archive = place / "kernels.a"
    if archive.exists():
        return archive
    place.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c99", "-O1", *core.flags * (not core.prefix), *SANITIZE, *_includes(core)]
    for source in (p for p in files if p.suffix == ".c"):
        done = _run(["gcc", *flags, "-c", source, "-o", place / f"{source.stem}.o"])
        if done.returncode:
            raise RuntimeError(done.stderr[-4000:])
    _run(["ar", "rcs", archive, *sorted(place.glob("*.o"))])
    return archive


def _run(command: list[Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
