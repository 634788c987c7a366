"""The command: ``python -m tools.mutants PATHS...``; see the package."""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType

from tools.covered import ROOT, Record
from tools.mutants import by_hand, c_faults, python_faults
from tools.mutants.c_builds import is_another_program
from tools.mutants.copies import Copy, copy_tree
from tools.mutants.equivalents import EQUIVALENT, EQUIVALENT_EVERYWHERE
from tools.mutants.faults import Place, changed_lines
from tools.mutants.reach import Reach
from tools.page import write_table

BUILD = ROOT / "build" / "mutants"
MOST_S = 240.0
"""Seconds of the tests of one fault in Python, as they took without it: the first are taken."""
SLOWER, SPARE_S = 6, 60
"""A run may take so many times as long as the record says, and some seconds more."""


@dataclass(frozen=True)
class Verdict:
    """What became of a fault."""

    path: str
    line: int
    operator: str
    before: str
    after: str
    noticed: bool
    by: str
    tests: int
    seconds: float

    @property
    def change(self) -> str:
        """What it changes, as ``EQUIVALENT`` names it."""
        return f"{self.before} -> {self.after}"

    @property
    def reason(self) -> str:
        """Why no test can notice it; empty for most."""
        named = EQUIVALENT.get(self.path, {}).get(self.change, "")
        everywhere = EQUIVALENT_EVERYWHERE.items()
        return named or next((why for p, why in everywhere if re.search(p, self.before)), "")


def main() -> None:
    """Put faults in, one at a time, and say which of them no test notices."""
    arguments = _arguments()
    drawn = recorded(arguments.again)
    if drawn:
        places = survivors(drawn)
    elif arguments.by_hand:
        places = by_hand.written(arguments.by_hand)
    else:
        drawn_from = every_place(arguments.paths)
        if arguments.since:
            drawn_from = changed_since(arguments.since, drawn_from)
        places = chosen(drawn_from, arguments.kinds, arguments.number, arguments.seed)
    record = Record()
    if arguments.record or needs_record(record, places):
        print("all tests run once, covered, to learn which of them reach which line", flush=True)
        record.make()
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder:
        for verdict in judged(places, Reach(record), arguments.jobs, Path(folder)):
            verdicts.append(verdict)
            print(described(verdict), flush=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    _file_of(arguments.name).write_text(json.dumps([asdict(v) for v in verdicts], indent=1) + "\n")
    shown = table(drawn or verdicts, verdicts)
    if arguments.write:
        write_table("faults", shown)
    print(shown, f"\nrecord: {_file_of(arguments.name).relative_to(ROOT)}")


def needs_record(record: Record, faults: Iterable[tuple[Place, str]]) -> bool:
    """Whether some are in Python, and no run has said which tests reach them."""
    return not record.exists and any(not place.is_c for place, _ in faults)


def _file_of(name: str) -> Path:
    """The record of a run."""
    return BUILD / f"{name}.json"


def recorded(names: Iterable[str]) -> list[Verdict]:
    """The verdicts of runs, by the names of their records."""
    texts = (_file_of(name).read_text() for name in names)
    return [Verdict(**fields) for text in texts for fields in json.loads(text)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("paths", nargs="*", default=["tinyrt"], help="files or folders")
    parser.add_argument(
        "--again", nargs="+", default=[], help="records whose survivors are tried once more"
    )
    parser.add_argument("--by-hand", type=Path, help="faults that somebody wrote, as JSON")
    parser.add_argument("--number", type=int, default=20, help="of faults, evenly from packages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--since", default="", help="only lines that changed since this commit")
    parser.add_argument("--kinds", default="", help="operators, by a part of the name: Remove,Swap")
    parser.add_argument("--record", action="store_true", help="learn anew which tests reach what")
    parser.add_argument("--name", default="last", help="of the record in build/mutants")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    return parser.parse_args()


# Which faults


def chosen(places: Iterable[Place], kinds: str, number: int, seed: int) -> list[tuple[Place, str]]:
    """So many faults, as many from each package, with the file that each makes."""
    rng = random.Random(seed)
    by_package: dict[str, list[Place]] = {}
    for place in sorted(places):
        if any(kind in place.operator for kind in kinds.split(",")):
            by_package.setdefault(place.package, []).append(place)
    for of_package in by_package.values():
        rng.shuffle(of_package)
    faults: list[tuple[Place, str]] = []
    while by_package and len(faults) < number:
        for package in sorted(by_package):
            if len(faults) < number and (fault := _next(by_package[package])):
                faults.append(fault)
            if not by_package[package]:
                del by_package[package]
    return faults


def survivors(verdicts: Iterable[Verdict]) -> list[tuple[Place, str]]:
    """The faults that no test noticed and that are still there to be made, in the files of now."""
    left = {_identity(v) for v in verdicts if not (v.noticed or v.reason)}
    faults = []
    for place in every_place({path for path, _, _ in left}):
        before = (ROOT / place.path).read_text()
        after = _faults_of(place).changed(before, place)
        if after is not None:
            change = " -> ".join(changed_lines(before, after))
            if (place.path, place.operator, change) in left:
                faults.append((place, after))
    return faults


def every_place(paths: Iterable[str]) -> Iterator[Place]:
    """Every place of the package's files below the paths."""
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    with ProcessPoolExecutor() as pool:
        for places in pool.map(_places, files, chunksize=8):
            yield from places


def changed_since(commit: str, places: Iterable[Place]) -> Iterator[Place]:
    """Those whose line is not in the files of the commit."""
    command = ["git", "diff", "--unified=0", "--no-renames", commit, "--", "tinyrt"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines: dict[str, set[int]] = {}
    path = ""
    for line in shown.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(path, set()).update(range(first, first + count))
    return (place for place in places if place.line in lines.get(place.path, ()))


def _places(path: str) -> list[Place]:
    if path.endswith(".py"):
        return python_faults.places(ROOT, path)
    is_kernel = path.startswith("tinyrt/kernels_c/") and path.endswith((".c", ".h"))
    return c_faults.places(ROOT, path) if is_kernel else []


def _next(places: list[Place]) -> tuple[Place, str] | None:
    """The first that changes what the file means, taken from the list."""
    while places:
        place = places.pop(0)
        before = (ROOT / place.path).read_text()
        after = _faults_of(place).changed(before, place)
        if after is None or (place.is_c and not is_another_program(place.path, after)):
            continue
        changes = changed_lines(before, after)
        if not any(re.search(p, text) for p in EQUIVALENT_EVERYWHERE for text in changes):
            return place, after
    return None


def _faults_of(place: Place) -> ModuleType:
    """The module with the operators for the place's language."""
    return c_faults if place.is_c else python_faults


# What becomes of them


def judged(
    faults: list[tuple[Place, str]], reach: Reach, jobs: int, folder: Path
) -> Iterator[Verdict]:
    """The verdict of each, as they come."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    for job in range(jobs):
        copies.put(copy_tree(folder / str(job)))

    passing: set[str] = set()

    def judge(fault: tuple[Place, str]) -> Verdict:
        copy = copies.get()
        try:
            return _judge(fault, reach, copy, passing)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(judge, faults)


def _judge(fault: tuple[Place, str], reach: Reach, copy: Copy, passing: set[str]) -> Verdict:
    """What the tests say; to those that ``passing`` has it adds what passes without the fault."""
    place, after = fault
    before = (copy.folder / place.path).read_text()
    tests = reach.tests_of(place)
    tests, expected_s = _within(tests, reach, math.inf if place.is_c else MOST_S)
    start = time.monotonic()
    failing: list[str] = []
    while True:
        with copy.changed(place.path, after):
            outcome = copy.run(tests, expected_s * SLOWER + SPARE_S, failing)
            is_test = ".py" in outcome.by
            alone = not is_test or copy.run([outcome.by], MOST_S).noticed
        known = not is_test or outcome.by in passing
        if alone and (known or not copy.run([outcome.by], MOST_S).noticed):
            passing.add(outcome.by)
            break
        # It fails without the fault, too, or behind other tests only: the others are asked.
        failing.append(outcome.by)
    old, new = changed_lines(before, after)
    seconds = round(time.monotonic() - start, 1)
    return Verdict(
        place.path,
        place.line,
        place.operator,
        old,
        new,
        outcome.noticed,
        outcome.by,
        len(tests),
        seconds,
    )


def _within(tests: list[str], reach: Reach, most_s: float) -> tuple[list[str], float]:
    """As many of the tests as take so long together, and how long."""
    total, taken = 0.0, []
    for test in tests:
        seconds = reach.seconds_of(test)
        if total + seconds > most_s and taken:
            break
        total += seconds
        taken.append(test)
    return taken, total


# What is shown


def described(verdict: Verdict) -> str:
    """One fault and its verdict, in a line."""
    word = f"NOT NOTICED by {verdict.tests} tests"
    if verdict.noticed:
        word = f"noticed by {verdict.by}"
    elif verdict.reason:
        word = f"equivalent: {verdict.reason}"
    place = f"{verdict.path}:{verdict.line} {verdict.operator}"
    return f"{place}: {verdict.change}\n    {word}, {verdict.seconds} s"


def table(drawn: list[Verdict], since: Iterable[Verdict]) -> str:
    """For each package how many faults were noticed when drawn, and until today, as Markdown."""
    today = {_identity(v) for v in since if v.noticed}
    of: dict[str, list[Verdict]] = {}
    for verdict in drawn:
        of.setdefault(Place(verdict.path, "", 0, 0).package, []).append(verdict)
    of = dict(sorted(of.items())) | {"all": drawn}
    lines = [
        "| package | faults | equivalent | noticed when drawn | today |",
        "|---|---|---|---|---|",
    ]
    for package, here in of.items():
        noticed = sum(v.noticed for v in here)
        later = sum(v.noticed or _identity(v) in today for v in here)
        equivalent = sum(bool(v.reason) and not v.noticed for v in here)
        share = noticed / max(len(here) - equivalent, 1)
        counts = f"{len(here)} | {equivalent} | {noticed} ({share:.0%}) | {later}"
        lines.append(f"| `{package}` | {counts} |")
    return "\n".join(lines)


def _identity(verdict: Verdict) -> tuple[str, str, str]:
    """What makes it the same fault, wherever its line has moved."""
    return verdict.path, verdict.operator, verdict.change


if __name__ == "__main__":
    main()
