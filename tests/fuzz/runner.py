"""Mutants in processes of their own: who crashes, hangs or takes too much memory is recorded.

A mutant is what (kind, seed, index) say, on any machine with the same seeds. A child process is
forked from one that has everything imported; it checks one mutant after the other and writes down
in shared memory which one. If it dies, or has to be killed, that mutant is the finding, and the
next child goes on behind it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz import commands, npz_mutator, onnx_mutator, tflite_mutator
from tests.fuzz.checks import OPENED, RAN, REFUSED, check
from tests.fuzz.processes import (
    MAX_RESIDENT,
    Board,
    left_behind,
    peak_bytes,
    reset_peak,
    watch,
)
from tests.fuzz.seeds import seeds
from tinyrt.errors import DefectError

KINDS = ("tflite", "onnx", "npz", "cli")
MUTATORS = {
    "tflite": tflite_mutator.mutate,
    "onnx": onnx_mutator.mutate,
    "npz": npz_mutator.mutate,
    "cli": commands.mutate,
}
CHUNK = 1000
"""Mutants of one process: what it keeps is then forgotten."""
STATES = (REFUSED, OPENED, RAN)

Check = Callable[[str, bytes, Path, np.random.Generator], str]


def mutant(kind: str, seed: int, index: int, originals: list[bytes]) -> tuple[bytes, Any]:
    """The file, and the generator that its check goes on with."""
    rng = np.random.default_rng([seed, KINDS.index(kind), index])
    return MUTATORS[kind](originals[int(rng.integers(len(originals)))], rng), rng


@dataclass
class Finding:
    """Something that must not be.

    Attributes:
        what: the kind of failure: an exception's type, a signal, ``time``, ``memory``.
        place: the innermost place in tinyrt.
        detail: the traceback, or what the process left behind.
        indices: mutants that show it.

    """

    what: str
    place: str
    detail: str
    indices: list[int] = field(default_factory=list)


@dataclass
class Campaign:
    """What has been run of one kind from one seed; written to a file, so that it can go on.

    Attributes:
        kind: of the files.
        seed: of the mutants.
        next: the first mutant that was not tried yet.
        seconds: processor time of all that was done.
        states: how many mutants came to what.
        findings: by what they are and where.

    """

    kind: str
    seed: int
    next: int = 0
    seconds: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)

    def add(self, index: int, what: str, place: str, detail: str) -> None:
        """Record a finding."""
        key = f"{what} at {place}"
        self.findings.setdefault(key, Finding(what, place, detail)).indices.append(index)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = [vars(f) | {"count": len(f.indices)} for f in self.findings.values()]
        own = {"kind": self.kind, "seed": self.seed, "next": self.next, "seconds": self.seconds}
        return own | {"states": dict(self.states), "findings": found}

    @classmethod
    def load(cls, path: Path, kind: str, seed: int) -> Campaign:
        """What the file says was done so far; nothing where there is none."""
        if not path.exists():
            return cls(kind, seed)
        data = json.loads(path.read_text())
        campaign = cls(kind, seed, data["next"], data["seconds"], Counter(data["states"]))
        for entry in data["findings"]:
            entry.pop("count")
            finding = Finding(**entry)
            campaign.findings[f"{finding.what} at {finding.place}"] = finding
        return campaign


def warm_up(kind: str, originals: list[bytes]) -> None:
    """Check the seeds themselves: kernels are compiled and imports done before children fork."""
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        for data in originals[:MAX_WARM]:
            with contextlib.suppress(Exception):  # campaigns see it, too, and say which mutant
                check(kind, data, Path(folder), np.random.default_rng(0))


MAX_WARM = 250


def _processor_seconds() -> float:
    """Processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Job:
    """What is done with each mutant.

    Attributes:
        make: index -> the file, and the generator that its check goes on with.
        check: what is done with it.
        folder: where files of findings go; nowhere if None.
        deadline: when to stop, as ``time.monotonic`` has it.

    """

    make: Callable[[int], tuple[bytes, np.random.Generator]]
    check: Check
    folder: Path | None
    deadline: float | None


def run(
    campaign: Campaign,
    folder: Path,
    *,
    count: int | None = None,
    deadline: float | None = None,
    check: Check = check,
    originals: list[bytes] | None = None,
    given: list[bytes] | None = None,
    keep: bool = True,
    after: Callable[[], None] | None = None,
) -> None:
    """Check the next mutants, until there are that many in all or the time has come.

    Args:
        campaign: goes on with what it has.
        folder: where files of findings go.
        count: mutants in all.
        deadline: when to stop, as ``time.monotonic`` has it.
        check: what is done with each.
        originals: what mutants are made from; all seeds of the kind if not given.
        given: files to check as they are, instead.
        keep: whether findings are kept as files.
        after: called now and then, to save what was done.

    """
    if given is None and originals is None:
        originals = seeds(campaign.kind)
    if keep:
        folder.mkdir(parents=True, exist_ok=True)

    def make(index: int) -> tuple[bytes, np.random.Generator]:
        if given is not None:
            return given[index], np.random.default_rng(0)
        return mutant(campaign.kind, campaign.seed, index, originals or [])

    job = Job(make, check, folder if keep else None, deadline)
    before = campaign.seconds - _processor_seconds()
    while (count is None or campaign.next < count) and not (
        deadline is not None and time.monotonic() >= deadline
    ):
        stop = campaign.next + CHUNK if count is None else min(campaign.next + CHUNK, count)
        _chunk(campaign, stop, job)
        campaign.seconds = before + _processor_seconds()
        if after is not None:
            after()


def _chunk(campaign: Campaign, stop: int, job: Job) -> None:
    """Fork a child for some mutants, and watch it."""
    board, scratch = Board(), Path(tempfile.mkdtemp(dir=_fast_folder()))
    board.write(campaign.next, 0.0, [0] * len(STATES))
    log, findings = scratch / "log", scratch / "findings"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _work(campaign, stop, board, scratch, job)
            status = 0
        except BaseException:
            log.write_text(traceback.format_exc())
        finally:
            os._exit(status)
    problem, index = watch(child, board)
    campaign.next, _, counts = board.read()
    campaign.states.update(dict(zip(STATES, counts, strict=True)))
    lines = findings.read_text().splitlines() if findings.exists() else ()
    told = [json.loads(line) for line in lines]
    for found in told:
        _add(campaign, job, **found)
    # A mutant that ended while its child was being stopped has told what was wrong itself.
    if problem and index not in {found["index"] for found in told}:
        text = log.read_text(errors="replace") if log.exists() else ""
        _add(campaign, job, index, problem, _place_in_log(text), text[-6000:])
        campaign.next = max(campaign.next, index + 1)
    shutil.rmtree(scratch, ignore_errors=True)


def _add(campaign: Campaign, job: Job, index: int, what: str, place: str, detail: str) -> None:
    campaign.add(index, what, place, detail)
    campaign.states["found"] += 1
    if job.folder is not None:
        keep_file(campaign, index, job.make(index)[0], job.folder)


def _fast_folder() -> str | None:
    """Where files cost no disk, if there is such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _work(campaign: Campaign, stop: int, board: Board, scratch: Path, job: Job) -> None:
    """What a child does."""
    log = (scratch / "log").open("w")
    faulthandler.enable(log)
    faulthandler.register(signal.SIGUSR1, log)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    os.chdir(scratch)
    counts = [0] * len(STATES)
    reset_peak()
    most = MAX_RESIDENT + left_behind(peak_bytes())
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    with (scratch / "findings").open("a") as findings:
        for index in range(campaign.next, stop):
            if job.deadline is not None and time.monotonic() >= job.deadline:
                stop = index
                break
            board.write(index, time.process_time(), counts)
            reset_peak()
            data, rng = job.make(index)
            try:
                state = job.check(campaign.kind, data, scratch, rng)
                counts[STATES.index(state)] += 1
                problem = None
            except Exception as error:
                cause = error.__cause__ if isinstance(error, DefectError) else None
                problem = {"what": type(error).__name__, "place": place_of(cause or error)}
                problem["detail"] = _traceback(error)
            peak = peak_bytes()
            if problem is None and peak > most:
                counts[STATES.index(state)] -= 1
                problem = {"what": "memory", "place": f"{state}", "detail": f"{peak:,} bytes"}
            if problem is not None:
                findings.write(json.dumps({"index": index, **problem}) + "\n")
                findings.flush()
    board.write(stop, 0.0, counts)


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-8000:]


def place_of(error: BaseException) -> str:
    """The innermost line in tinyrt that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/tinyrt/" in f.filename]
    last = own[-1] if own else frames[-1]
    said = f": {error}" if type(error).__name__ == "BrokenPromiseError" else ""
    return f"{last.filename.rpartition('/tinyrt/')[2]} {last.name}{said.split(';')[0][:60]}"


def _place_in_log(log: str) -> str:
    """The innermost line in tinyrt of the first thread that a fault handler wrote down."""
    for line in log.splitlines():
        if "/tinyrt/" in line:
            file, _, rest = line.strip().removeprefix('File "').partition('"')
            return f"{file.rpartition('/tinyrt/')[2]} {rest.rpartition(' in ')[2]}"
    return "elsewhere"


MAX_KEPT = 3
"""Files that are kept of each finding."""


def keep_file(campaign: Campaign, index: int, data: bytes, folder: Path) -> None:
    """Write a file that shows a finding to the folder, if few of its kind are there."""
    number, finding = next(
        (i, f) for i, f in enumerate(campaign.findings.values()) if index in f.indices
    )
    if len(finding.indices) > MAX_KEPT:
        return
    name = f"{campaign.kind}-{campaign.seed}-{number:03}-{index}"
    (folder / f"{name}.{campaign.kind}").write_bytes(data)
    (folder / f"{name}.txt").write_text(
        f"{finding.what} at {finding.place}\nmutant {index} of seed {campaign.seed}\n\n"
        f"{finding.detail}\n"
    )
