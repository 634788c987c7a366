"""How many of the package's branches the tests take: ``make coverage``.

    python -m tools.branches [--report] [--missing PATH] [--write]

runs all tests, covered, and shows for each room its statements, its branches and the share of both
that ran. It fails where a room falls below ``FLOORS``, or a place that no test took has no reason
in tools/untaken.py. With ``--report`` the last run is shown again, with ``--missing tinyrt/cli``
the places below that path.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.covered import ROOT, Record
from tools.page import write_table
from tools.untaken import Untaken, untaken, without_place

LEAST = 95.0
"""Percent of branches that must run, in the package as a whole and in each room."""
FLOORS: Mapping[str, float] = {}
"""Rooms that are held to another share, for a reason that docs/contributing/testing.md gives."""


@dataclass(frozen=True)
class Share:
    """What ran of one room."""

    statements: int = 0
    ran: int = 0
    branches: int = 0
    taken: int = 0

    def __add__(self, other: Share) -> Share:
        """Both together."""
        return Share(*(a + b for a, b in zip(self.counts, other.counts, strict=True)))

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The four numbers."""
        return self.statements, self.ran, self.branches, self.taken

    @property
    def percent(self) -> float:
        """Of branches that were taken; of statements that ran, where there are no branches."""
        whole, part = (self.branches, self.taken) if self.branches else (self.statements, self.ran)
        return 100 * part / max(whole, 1)


def main() -> int:
    """Run, show, compare."""
    parser = argparse.ArgumentParser(prog="python -m tools.branches", description=__doc__)
    parser.add_argument("--report", action="store_true", help="show the last run again")
    parser.add_argument("--missing", metavar="PATH", help="what the last run did not reach there")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    arguments = parser.parse_args()
    record = Record()
    passed = arguments.report or bool(arguments.missing) or record.make()
    files = _measured(record)
    places, rooms = untaken(files), shares(files)
    if arguments.missing:
        print("\n".join(described(p) for p in places if p.path.startswith(arguments.missing)))
        return 0
    print(table(rooms))
    if arguments.write:
        write_table("branches", table(rooms))
        write_table("untaken", table_of_places(places))
    for path, text in without_place(places):
        print(f"{path}: a reason that is not needed any more: {text}")
    unexplained = [place for place in places if not place.reason]
    for place in unexplained:
        print(described(place))
    low = below(rooms)
    for room, have, least in low:
        print(f"{room}: {have:.1f} %, at least {least:.1f} % must run")
    return 1 if low or unexplained or not passed else 0


def _measured(record: Record) -> Mapping[str, Any]:
    """File -> its part of coverage.py's report."""
    report = record.folder / "coverage.json"
    coverage = [sys.executable, "-m", "coverage", "json", f"--rcfile={record.config}"]
    subprocess.run([*coverage, "-q", "-o", str(report)], cwd=ROOT, check=True)
    files = json.loads(report.read_text())["files"]
    return {str((ROOT / file).relative_to(ROOT)): entry for file, entry in files.items()}


def shares(files: Mapping[str, Any]) -> dict[str, Share]:
    """Room -> what ran of it; ``all`` comes last."""
    rooms: dict[str, Share] = {}
    for file, entry in sorted(files.items()):
        room = "/".join(Path(file).parts[:2]) if file.count("/") > 1 else "tinyrt"
        counts = entry["summary"]
        share = Share(
            counts["num_statements"],
            counts["covered_lines"],
            counts["num_branches"],
            counts["covered_branches"],
        )
        rooms[room] = rooms.get(room, Share()) + share
    return {**rooms, "all": sum(rooms.values(), Share())}


def below(rooms: Mapping[str, Share]) -> list[tuple[str, float, float]]:
    """Room, its share and what it should be, where that is more."""
    return [
        (room, share.percent, FLOORS.get(room, LEAST))
        for room, share in rooms.items()
        if share.percent < FLOORS.get(room, LEAST)
    ]


def described(place: Untaken) -> str:
    """A place in a line or two."""
    reason = place.reason or "a test is missing, or a reason in tools/untaken.py"
    return f"{place.path}:{place.line}: {place.text}\n    {reason}"


def table_of_places(places: Iterable[Untaken]) -> str:
    """The places with their reasons as Markdown."""
    lines = ["| file | line | why no test has to take it |", "|---|---|---|"]
    for place in places:
        text = place.text.replace("|", "\\|")
        lines.append(f"| `{place.path}` | `{text}` | {place.reason} |")
    return "\n".join(dict.fromkeys(lines))


def table(rooms: Mapping[str, Share]) -> str:
    """The shares as Markdown."""
    lines = ["| room | statements | branches | branches taken |", "|---|---|---|---|"]
    for room, share in rooms.items():
        counts = f"{share.statements:,} | {share.branches:,}"
        lines.append(f"| `{room}` | {counts} | {share.percent:.1f} % |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
