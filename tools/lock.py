"""Lock what tinyrt is set up and released with, and list the licences of it.

    .venv/bin/python tools/lock.py [--upgrade | --check]

asks pip what it would install on this Python and machine, and writes:

* ``constraints.txt``: the version of each package, which ``make setup`` takes;
* ``requirements-hashes.txt``: versions and hashes of what a released wheel needs, for
  ``pip install --require-hashes``;
* ``tools/dependencies.json``: the same with licences, which the wheel's bill of materials
  (``build_backend.py``) is made from;
* ``docs/dependencies.md``: the licences as a table.

What is locked keeps its version; with ``--upgrade`` all take the newest that fit.
With ``--check`` nothing is asked or written: the others must follow from
``tools/dependencies.json``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tools" / "dependencies.json"
VENDORED = ROOT / "tinyrt" / "report" / "vendor" / "manifest.json"
SETS = {"runtime": ["."], "setup": [".[dev]", "setuptools>=77"]}
ALONE = ["aeon>=1.0", "cosmic-ray>=8.7"]
"""Installed without what they require: only a part of them is used, as setup_python.sh says."""
SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License v2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD-3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "new BSD": "BSD-3-Clause",
    "MIT License": "MIT",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""What packages call their licence -> the identifier of SPDX."""
READ = {
    **{"aeon": "BSD-3-Clause", "jinja2": "BSD-3-Clause", "scipy": "BSD-3-Clause"},
    **{"axe-playwright-python": "MIT AND MPL-2.0", "cosmic-ray": "MIT"},
    **{"numba": "BSD-2-Clause", "pyserial": "BSD-3-Clause", "tflite-micro": "Apache-2.0"},
}
"""Packages whose metadata do not say it, or not which -> the licence of their source."""
FRAMEWORKS = """
## What `make test-frameworks` needs

| extra | packages | why they are not in the set-up |
|---|---|---|
| `torch` | torch, onnxscript | gigabytes, with CUDA's libraries |
| `transformers` | the same, and transformers | the same |
| `keras` | keras, tensorflow-cpu, tf2onnx | TensorFlow is a gigabyte and pins versions |
| `jax` | jax, jax2onnx | hundreds of megabytes |

These packages write the models of [the pages for their users](from-pytorch.md). `make test` carries
the pages out with small ONNX files of the same forms. `make test-frameworks` installs each extra
into an environment of its own below `build/`, in its newest version, and carries the pages out as
they stand. skl2onnx is in the set-up: it takes 3 MB and requires onnx and scikit-learn alone, which
are there.

`make test-ecosystems` likewise installs the extra `ecosystems`: tools of ESP-IDF, Zephyr's language
of options and PlatformIO, which judge [the folders in their shapes](ecosystems.md).
"""
Package = dict[str, Any]


def canonical(name: str) -> str:
    """The name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def reported(requirements: list[str], *options: str) -> dict[str, Any]:
    """What pip would install: canonical name -> its entry of pip's report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--only-binary", ":all:", "--report", str(report)]
        subprocess.run([*command, *options, *requirements], cwd=ROOT, check=True)
        found = json.loads(report.read_text())["install"]
    entries = {canonical(entry["metadata"]["name"]): entry for entry in found}
    entries.pop("tinyrt", None)
    return entries


def licence_of(metadata: dict[str, Any]) -> str:
    """By its SPDX expression, its short text or its classifier; as installed, if it is."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import metadata as installed

    try:
        fields = installed(metadata["name"])
        expression, text = fields.get("License-Expression"), fields.get("License")
        classifiers = fields.get_all("Classifier") or []
    except PackageNotFoundError:
        expression, text = metadata.get("license_expression"), metadata.get("license")
        classifiers = metadata.get("classifier", [])
    named = [c.rsplit(" :: ", 1)[1] for c in classifiers if c.startswith("License :: ")]
    named = [n for n in named if n != "OSI Approved"]
    short = text if text and len(text) < 60 and "\n" not in text else None
    found = expression or short or " AND ".join(named) or "see the package"
    return READ.get(canonical(metadata["name"]), SPDX.get(found, found))


def asked(*, upgrade: bool) -> list[Package]:
    """All packages, by name: version, licence, hashes and what they are for."""
    kept = () if upgrade else ("--constraint", "constraints.txt")
    runtime, everything = reported(SETS["runtime"], *kept), reported(SETS["setup"], *kept)
    everything |= reported(ALONE, "--no-deps", *kept)
    return [
        {
            "name": name,
            "version": entry["metadata"]["version"],
            "licence": licence_of(entry["metadata"]),
            "scope": "runtime" if name in runtime else "setup",
            "file": entry["download_info"]["url"].rsplit("/", 1)[-1],
            "sha256": entry["download_info"]["archive_info"]["hashes"]["sha256"],
        }
        for name, entry in sorted(everything.items())
    ]


def written(locked: dict[str, Any]) -> dict[Path, str]:
    """The files that follow from the record."""
    packages: list[Package] = locked["packages"]
    made_for = f"{locked['python']}, {locked['platform']}"
    head = f"# Written by tools/lock.py for {made_for}.\n"
    versions = "".join(f"{p['name']}=={p['version']}\n" for p in packages)
    hashes = "".join(
        f"{p['name']}=={p['version']} --hash=sha256:{p['sha256']}\n"
        for p in packages
        if p["scope"] == "runtime"
    )
    return {
        ROOT / "constraints.txt": head + versions,
        ROOT / "requirements-hashes.txt": head + hashes,
        ROOT / "docs" / "dependencies.md": page(packages, made_for),
    }


def page(packages: list[Package], made_for: str) -> str:
    """The table of licences."""
    lines = [
        "# What tinyrt depends on",
        "",
        f"Written by `tools/lock.py` from what it locked for {made_for}. Nothing of these",
        "packages goes into exported C code or device code.",
    ]
    titles = {
        "runtime": "What the package needs",
        "setup": "What its setup, tests and recipes need",
    }
    for scope, title in titles.items():
        lines += ["", f"## {title}", "", "| package | version | licence |", "|---|---|---|"]
        lines += [
            f"| {p['name']} | {p['version']} | {p['licence']} |"
            for p in packages
            if p["scope"] == scope
        ]
    vendored = json.loads(VENDORED.read_text())
    lines += ["", "## What the pages of `tinyrt report` carry", ""]
    lines += ["| library | version | licence |", "|---|---|---|"]
    lines += [f"| {v['name']} | {v['version']} | {v['licence']} |" for v in vendored]
    return "\n".join(lines) + "\n" + FRAMEWORKS


def main() -> None:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--upgrade", action="store_true", help="take the newest versions")
    what.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    if not options.check:
        python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        locked = {
            "python": python,
            "platform": "x86-64 Linux",
            "packages": asked(upgrade=options.upgrade),
        }
        RECORD.write_text(json.dumps(locked, indent=1) + "\n")
    files = written(json.loads(RECORD.read_text()))
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if options.check and stale:
        raise SystemExit(f"lock: stale: {', '.join(path.name for path in stale)}")
    for path in stale:
        path.write_text(files[path])


if __name__ == "__main__":
    main()
