"""``python -m tests.fuzz``: mutants of model and data files, each checked in a watched process.

Commands: ``run`` (the default), ``export``, ``all`` (both), ``peers``, ``replay``, ``minimise``,
``page``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tinyrt
from tests.fuzz import exports, peers, report
from tests.fuzz.minimise import minimised, outcome
from tests.fuzz.runner import KINDS, Campaign, run, warm_up
from tests.fuzz.seeds import seeds

Options = argparse.Namespace


def _run(options: Options) -> int:
    """Mutants of all kinds."""
    kinds = options.kinds.split(",")
    failed = 0
    for kind in kinds:
        path = options.out / f"{kind}-{options.seed}.json"
        warm_up(kind, seeds(kind))
        failed += _campaign(options, path, kind, minutes=options.minutes / len(kinds))
    return 1 if failed else 0


def _export(options: Options) -> int:
    """Mutants that load, exported, built with sanitizers and run."""
    kind = options.kinds.split(",")[0]
    warm_up(kind, seeds(kind))
    found = exports.campaign(
        kind,
        options.seed,
        options.count or sys.maxsize,
        time.monotonic() + 60 * options.minutes,
        options.out,
    )
    print(f"{kind}: {found['next']} mutants, {found['states']}")
    return _print_findings(found["findings"])


def _peers(options: Options) -> int:
    """The same mutants through other run times; what they do wrong is no failure of ours."""
    engines = {n: e for n, e in peers.ENGINES.items() if e[0] in options.kinds.split(",")}
    for name, (kind, _, check) in engines.items():
        path = options.out / f"peer-{name.replace(', ', '-').replace(' ', '-')}-{options.seed}.json"
        share = options.minutes / len(engines)
        _campaign(options, path, kind, check=check, minutes=share, keep=False)
    return 0


def _campaign(options: Options, path: Path, kind: str, minutes: float, **more: Any) -> int:
    campaign = Campaign.load(path, kind, options.seed)
    path.parent.mkdir(parents=True, exist_ok=True)

    def save() -> None:
        path.write_text(json.dumps(campaign.as_dict(), indent=1) + "\n")

    deadline = None if options.count is not None else time.monotonic() + 60 * minutes
    run(
        campaign,
        options.out / "findings",
        count=options.count,
        deadline=deadline,
        after=save,
        **more,
    )
    save()
    print(
        f"{path.stem}: {campaign.next} mutants, {campaign.seconds:.0f} s, {dict(campaign.states)}"
    )
    return _print_findings(campaign.as_dict()["findings"])


def _print_findings(findings: list[dict[str, Any]]) -> int:
    for finding in findings:
        print(f"  {finding['count']:5} × {finding['what']} at {finding['place']}")
    return 1 if findings else 0


def _replay(options: Options) -> int:
    """Files, one by one: what becomes of each."""
    found = {path: outcome(path.suffix[1:], path.read_bytes()) for path in options.files}
    for path, what in found.items():
        print(f"{path}: {what or 'as it should be'}")
    return 1 if any(found.values()) else 0


def _minimise(options: Options) -> int:
    """Findings, each written beside itself as ``min-...``."""
    for path in options.files:
        data = minimised(path.suffix[1:], path.read_bytes(), 60 * options.minutes)
        path.with_name(f"min-{path.name}").write_bytes(data)
        print(f"{path}: {path.stat().st_size} -> {len(data)} bytes")
    return 0


def _page(options: Options) -> int:
    """``results.json`` from what lies in the output folder, and the page from that."""
    loaded = {p.stem: json.loads(p.read_text()) for p in sorted(options.out.glob("*.json"))}
    for entry in loaded.values():
        entry["found"] = report.counted(entry.pop("findings"))
    names = {n.replace(", ", "-").replace(" ", "-"): n for n in peers.ENGINES}
    results = {
        "version": tinyrt.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "runs": _by_kind(e for s, e in loaded.items() if not s.startswith(("export-", "peer-"))),
        "exports": _by_kind(e for s, e in loaded.items() if s.startswith("export-")),
        "peers": [],
    }
    for stem, entry in loaded.items():
        if stem.startswith("peer-"):
            name = names[stem.removeprefix("peer-").rpartition("-")[0]]
            results["peers"].append(entry | {"engine": name, "version": peers.version(name)})
    report.RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    report.PAGE.write_text(report.page(results))
    return 0


def _all(options: Options) -> int:
    """Mutants of all kinds, and in a quarter of the time exports."""
    whole = options.minutes
    options.minutes = 0.75 * whole
    failed = _run(options)
    options.minutes, options.kinds = 0.25 * whole, "tflite"
    return _export(options) | failed


def _by_kind(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Campaigns of one kind, from several seeds, as one."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        seed = entry.pop("seed")
        if entry["kind"] not in found:
            found[entry["kind"]] = entry | {"seeds": [seed]}
            continue
        whole = found[entry["kind"]]
        whole["seeds"].append(seed)
        for field in ("next", "seconds"):
            whole[field] += entry[field]
        for field in ("states", "found"):
            whole[field] = dict(Counter(whole[field]) + Counter(entry[field])) | {
                key: 0 for key in whole[field] if not whole[field][key] + entry[field].get(key, 0)
            }
    return list(found.values())


COMMANDS: dict[str, Callable[[Options], int]] = {
    "run": _run,
    "all": _all,
    "export": _export,
    "peers": _peers,
    "replay": _replay,
    "minimise": _minimise,
    "page": _page,
}


def main() -> int:
    """Parse the command line, and run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("command", choices=COMMANDS, nargs="?", default="run")
    parser.add_argument("files", type=Path, nargs="*", help="of replay and minimise")
    parser.add_argument("--minutes", type=float, default=5.0, help="of all that is run together")
    parser.add_argument("--count", type=int, help="mutants of each kind, instead of minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help="with commas")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args()
    return COMMANDS[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
