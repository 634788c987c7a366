"""The page that says what has been run: docs/fuzzing.md, written from ``results.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parents[2] / "docs" / "fuzzing.md"
TEMPLATE = Path(__file__).parent / "page.md"


def page(results: dict[str, Any]) -> str:
    """The page's text."""
    text = TEMPLATE.read_text()
    for name, lines in (
        ("ran", _ran(results["runs"])),
        ("exported", _exported(results["exports"])),
        ("peers", _peers(results["peers"])),
    ):
        text = text.replace(f"{{{{ {name} }}}}", "\n".join(lines))
    return text.replace("{{ version }}", results["version"]).replace("{{ date }}", results["date"])


def _ran(runs: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| file | mutants | refused by name | opened | ran | other exceptions, defects | signals "
        "| over 10 s | over 1 GiB | processor minutes |",
        "| --- |" + " ---: |" * 9,
    ]
    for run in runs:
        states = run["states"]
        cells = [run["kind"], *(states.get(s, 0) for s in ("refused", "opened", "ran"))]
        cells.insert(1, run["next"])
        cells += [run["found"][k] for k in ("exceptions", "signals", "time", "memory")]
        lines.append(_row([*cells, f"{run['seconds'] / 60:.0f}"]))
    return lines


def _exported(exports: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| file | exported, built and run | sanitizer reports | wrong answers | do not compile |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for entry in exports:
        kinds = ("sanitizer", "wrong answer", "does not compile")
        found = [entry["found"].get(kind, 0) for kind in kinds]
        lines.append(_row([entry["kind"], entry["states"].get("exported", 0), *found]))
    return lines


def _peers(peers: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| run time | file | mutants | refused | ran | crashes | over 10 s | over 1 GiB |",
        "| --- | --- |" + " ---: |" * 6,
    ]
    for entry in peers:
        states, found = entry["states"], entry["found"]
        ran = states.get("ran", 0) + states.get("opened", 0)
        lines.append(
            _row(
                [
                    *(f"{entry['engine']} {entry['version']}", entry["kind"], entry["next"]),
                    *(states.get("refused", 0), ran),
                    *(found["signals"], found["time"], found["memory"]),
                ]
            )
        )
    return lines


def _row(cells: list[Any]) -> str:
    return "| " + " | ".join(f"{c:,}" if isinstance(c, int) else str(c) for c in cells) + " |"


def counted(findings: list[dict[str, Any]]) -> dict[str, int]:
    """Findings by what the tables call them."""
    found = {"exceptions": 0, "signals": 0, "time": 0, "memory": 0}
    for finding in findings:
        what, count = finding["what"], finding["count"]
        if what.startswith(("signal", "exit")):
            found["signals"] += count
        elif what in ("time", "memory"):
            found[what] += count
        else:
            found["exceptions"] += count
            found[what] = found.get(what, 0) + count
    return found


def load() -> dict[str, Any]:
    """What is checked in."""
    return json.loads(RESULTS.read_text())
