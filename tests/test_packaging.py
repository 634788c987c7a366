"""What is installed: all that the package reads, licences, one version; it runs elsewhere."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import tinyrt
from tests.graphs import small_cnn
from tests.sampling import WHOLE, sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export.layouts import LAYOUTS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tinyrt"
VERSION = re.compile(r"\b" + re.escape(tinyrt.__version__) + r"\b")

LISTED = """
import sys
from setuptools import Distribution
distribution = Distribution({"script_name": "setup.py"})
distribution.parse_config_files()
command = distribution.get_command_obj("build_py")
command.build_lib = ""
command.ensure_finalized()
print(distribution.metadata.version)
print(*command.get_outputs(include_bytecode=False), sep="\\n")
"""
"""Prints the version, and the package's files that a wheel has; builds nothing."""


@pytest.fixture(scope="module")
def wheel_files():
    """The files of the package that a wheel has, as setuptools finds them."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    version, *files = done.stdout.split()
    assert version == tinyrt.__version__
    return {Path(file).as_posix() for file in files}


def sources():
    """All files of the package in this folder."""
    found = (p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_a_wheel_has_every_file_of_the_package_and_no_other(wheel_files):
    assert sources() - wheel_files == set()
    assert wheel_files - sources() == set()
    assert len(wheel_files) > 1000
    kinds = {Path(file).suffix for file in wheel_files}
    assert {".py", ".c", ".h", ".cuh", ".j2", ".json", ".toml"} <= kinds
    assert {"tinyrt/py.typed", "tinyrt/kernels_c/LICENSE"} <= wheel_files


WATCHED = """
import sys
from pathlib import Path

root, model, out, *layouts = sys.argv[1:]
opened = set()
sys.addaudithook(lambda event, args: event == "open" and opened.add(str(args[0])))

from tinyrt import api
from tinyrt.export import ExportOptions, export_c
from tinyrt.report import write_page

for core in ("cortex-m4", "cortex-m55"):
    export_c(model, Path(out) / core, core=core, options=ExportOptions(info=True, blob=True))
for layout in layouts:
    core = "rv32imc" if layout == "esp-idf" else "cortex-m0"
    export_c(model, Path(out) / layout, core=core, options=ExportOptions(layout=layout))
write_page(api.inspect_model(model), Path(out) / "page.html")
print(*sorted(path for path in opened if path.startswith(root)), sep="\\n")
"""
"""Exports for cores and ecosystems; prints which files of the folder it read."""


@pytest.mark.whole
def test_what_is_read_at_run_time_is_in_the_wheel(wheel_files, tmp_path):
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    command = [sys.executable, "-c", WATCHED, str(ROOT), str(tmp_path / "net.tflite")]
    done = subprocess.run(
        [*command, str(tmp_path / "out"), *sampled(("esp-idf",), tuple(LAYOUTS))],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    read = {Path(line).relative_to(ROOT).as_posix() for line in done.stdout.splitlines()}
    read = {file for file in read if "__pycache__" not in file}
    assert any(file.endswith(".j2") for file in read)
    assert any(file.endswith(".c") for file in read)
    assert read - wheel_files == set()


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "tinyrt.__version__"}
    named = [p for p in PACKAGE.rglob("*.py") if VERSION.search(p.read_text())]
    assert named == [PACKAGE / "__init__.py"]


# Built and installed

BUILD = "import sys, build_backend as b; print(b.build_{}(sys.argv[1]))"


def build(kind, folder, to):
    """What ``python -m build`` has the backend do, with the packages that are installed here."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(kind), str(to)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "tools")},
        capture_output=True,
        text=True,
        check=True,
    )
    return to / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A source distribution, and the wheel that is built from it alone."""
    folder = tmp_path_factory.mktemp("built")
    tree = folder / "tree"
    tree.mkdir()
    names = ("tinyrt", "tools", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md")
    more = ("constraints.txt", "requirements-hashes.txt", "CHANGELOG.md", "SECURITY.md")
    packed = folder / "tree.tar"
    with tarfile.open(packed, "w") as archive:
        for name in (*names, *more):
            archive.add(ROOT / name, name, filter=lambda m: None if "__pycache__" in m.name else m)
    with tarfile.open(packed) as archive:
        archive.extractall(tree, filter="data")
    sdist = build("sdist", tree, folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return sdist, build("wheel", unpacked, folder)


TINYRT = ("-m", "tinyrt")

whole = pytest.mark.skipif(not WHOLE, reason="builds and installs: TINYRT_TESTS=all")


@whole
def test_both_distributions_are_whole(built, wheel_files):
    sdist, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        members = set(archive.namelist())
        info = f"tinyrt-{tinyrt.__version__}.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
    assert {m for m in members if not m.startswith(info)} == wheel_files
    assert f"{info}/licenses/LICENSE" in members
    assert f"\nVersion: {tinyrt.__version__}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    with tarfile.open(sdist) as archive:
        named = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    assert wheel_files <= named
    assert {"LICENSE", "constraints.txt", "tools/build_backend.py"} <= named
    assert not [name for name in named if name.startswith("tests/")]


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A new environment with the wheel; what it requires is found where it is installed here."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(built[1]) as archive:
        archive.extractall(site)
    # Paths of a .pth file are appended as they are: no editable tinyrt comes with them.
    (site / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def run(python, folder, *arguments):
    """What the environment's Python prints; nothing of this folder is on its path."""
    names = ("PATH", "HOME", "XDG_CACHE_HOME", "LANG")
    env = {name: os.environ[name] for name in names if name in os.environ}
    return subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@whole
@pytest.mark.device
def test_the_wheel_goes_the_whole_way_from_elsewhere(installed, tmp_path):
    code = "import tinyrt; print(tinyrt.__file__)"
    where = run(installed, tmp_path, "-c", code)
    assert Path(where.strip()).is_relative_to(installed.parents[1])
    assert run(installed, tmp_path, *TINYRT, "--version") == f"tinyrt {tinyrt.__version__}\n"
    result = json.loads(run(installed, tmp_path, *TINYRT, "demo", "-o", "demo", "--json"))
    assert result["bit_exact"] is True
    assert result["top1"]["int8_device"] > 0.95
    model, data = "demo/digits.tflite", "demo/test.npz"
    ran = json.loads(run(installed, tmp_path, *TINYRT, "run", model, "-i", data, "--json"))
    (answers,) = ran["answers"].values()
    assert len(answers) == result["samples"]
    run(installed, tmp_path, *TINYRT, "inspect", model, "--html", "page.html")
    run(installed, tmp_path, *TINYRT, "export", model, "-o", "c", "--core", "m55")
    emulated = json.loads(
        run(installed, tmp_path, *TINYRT, "emulate", model, "--core", "m0", "--json")
    )
    assert emulated["bit_exact"] is True
    health = json.loads(run(installed, tmp_path, *TINYRT, "doctor", "--need", "arm", "--json"))
    assert health["healthy"] is True
