"""What setup and releases are locked to, and the bill of materials of a wheel."""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKED = json.loads((ROOT / "tools" / "dependencies.json").read_text())
PACKAGES = {p["name"]: p for p in LOCKED["packages"]}


def names(requirements):
    found = (re.match(r"[A-Za-z0-9._-]+", r).group() for r in requirements)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in found} - {"tinyrt"}


def test_files_of_versions_hashes_and_licences_follow_from_one_record():
    subprocess.run([sys.executable, ROOT / "tools" / "lock.py", "--check"], check=True)


def test_all_that_is_asked_for_is_locked_and_has_a_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = names(project["dependencies"])
    assert needed <= {n for n, p in PACKAGES.items() if p["scope"] == "runtime"}
    assert needed | names(r for e in ("demo", "peers", "cuda", "dev") for r in extras[e]) <= set(
        PACKAGES
    )
    for package in PACKAGES.values():
        assert package["licence"] not in ("", "see the package")
        assert re.fullmatch("[0-9a-f]{64}", package["sha256"])


@pytest.mark.slow
@pytest.mark.whole
def test_a_wheel_carries_its_bill_of_materials(tmp_path):
    if int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("an environment from before setuptools was one of the packages of setup")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--no-index", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)
    check_sbom(next(tmp_path.glob("*.whl")))


def test_a_bill_of_materials_goes_into_any_wheel(tmp_path):
    wheel = tmp_path / "tinyrt-9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as empty:
        empty.writestr("tinyrt-9.9.dist-info/RECORD", "tinyrt-9.9.dist-info/RECORD,,\n")
    code = "import sys, pathlib, build_backend as b; b.add_sbom(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, wheel], cwd=ROOT / "tools", check=True)
    check_sbom(wheel)


def check_sbom(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (place,) = (n for n in archive.namelist() if ".dist-info/sboms/" in n)
        (record,) = (n for n in archive.namelist() if n.endswith(".dist-info/RECORD"))
        text, lines = archive.read(place), archive.read(record).decode().splitlines()
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    assert f"{place},sha256={digest},{len(text)}" in lines
    document = json.loads(text)
    assert document["bomFormat"] == "CycloneDX"
    listed = {c["name"]: c for c in document["components"]}
    assert set(listed) == {n for n, p in PACKAGES.items() if p["scope"] == "runtime"}
    for name, component in listed.items():
        assert component["version"] == PACKAGES[name]["version"]
        assert component["licenses"][0]["license"]["name"]
