"""What of others lies in the pages: as its manifest says, with its licence."""

import hashlib
import json
import tomllib
from pathlib import Path

from tests.report.made import reported

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "tinyrt" / "report" / "vendor"
ENTRIES = json.loads((VENDOR / "manifest.json").read_text())


def test_every_file_is_in_the_manifest_with_its_hash():
    for entry in ENTRIES:
        data = (VENDOR / entry["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"], entry["file"]
        assert entry["version"].encode() in data[:200]
    named = {name for e in ENTRIES for name in (e["file"], e["licence_file"])}
    assert {path.name for path in VENDOR.iterdir()} == named | {"manifest.json"}


def test_every_licence_lets_it_be_handed_on():
    for entry in ENTRIES:
        assert entry["licence"] == "MIT"
        text = (VENDOR / entry["licence_file"]).read_text()
        assert "Permission is hereby granted, free of charge" in text


def test_the_page_has_it_whole_and_names_it():
    page = reported()[1]
    for entry in ENTRIES:
        text = (VENDOR / entry["file"]).read_text().strip()
        assert all(line in page for line in text.splitlines() if line.strip())
        assert f"{entry['version']}, {entry['licence']} licence" in page


def test_all_files_of_the_page_go_into_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    package = ROOT / "tinyrt"
    packed = {path for glob in settings["package-data"]["tinyrt"] for path in package.glob(glob)}
    ours = {p for p in (package / "report").rglob("*") if p.is_file()}
    assert {p for p in ours if p.suffix not in (".py", ".pyc")} <= packed
