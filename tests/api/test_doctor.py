"""What the doctor finds where something is missing, broken or too old, by construction."""

import os
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import pytest

from tinyrt import api
from tinyrt.api import doctor, libraries
from tinyrt.api.doctor import Check, Health, State
from tinyrt.api.libraries import Requirement, numbers, requirements
from tinyrt.cache import keep, state_of
from tinyrt.emulate.boards import BOARDS
from tinyrt.errors import DataError
from tinyrt.export import CORES

ARM = ("arm-none-eabi-gcc", "arm-none-eabi-ar", "arm-none-eabi-size", "qemu-system-arm")


def look(part):
    """The checks of one part alone."""
    found = list(doctor.PARTS[part].look(part))
    assert {check.part for check in found} == {part}
    return {check.what: check for check in found}


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder that is all of PATH, and a function that puts programs into it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name, script):
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    return put


# Programs


@pytest.mark.parametrize("missing", ARM)
def test_a_program_that_is_missing_is_named_with_its_packages(missing, path):
    for program in ARM:
        if program != missing:
            path(program, f"echo {program} 1.2.3")
    found = look("arm")
    assert found[missing].state is State.MISSING
    assert found[missing].found == "not on PATH"
    assert found[missing].mend.startswith("apt-get install ")
    packages = {"arm-none-eabi-gcc": "libnewlib", "qemu-system-arm": "qemu-system-arm"}
    assert packages.get(missing, "binutils-arm-none-eabi") in found[missing].mend
    others = [found[program] for program in ARM if program != missing]
    assert {check.found for check in others} == {f"{p} 1.2.3" for p in ARM if p != missing}
    assert {check.state for check in others} == {State.GOOD}
    assert ("boards" in found) == (missing != "qemu-system-arm")
    assert ("cores with a C library" in found) == (missing != "arm-none-eabi-gcc")


@pytest.mark.parametrize(
    ("part", "program"), [("riscv", "qemu-system-riscv32"), ("riscv", "riscv64-unknown-elf-gcc")]
)
def test_the_same_of_another_family(part, program, path):
    assert look(part)[program].state is State.MISSING


def test_no_compiler_at_all(path):
    found = look("compiler")
    assert (found["C compiler"].state, found["C compiler"].mend) == (
        State.MISSING,
        "apt-get install gcc",
    )
    assert (found["make"].state, found["make"].mend) == (State.MISSING, "apt-get install make")


def test_a_compiler_without_a_c_library(path):
    path("cc", 'case "$*" in *--version*) echo cc 9;; *) echo no string.h >&2; exit 1;; esac')
    found = look("compiler")
    assert (found["cc"].state, found["cc"].found) == (State.GOOD, "cc 9")
    assert found["C library"].state is State.BROKEN
    assert found["C library"].mend == "apt-get install libc6-dev"
    for script in ("echo cc 9", "exit 1"):
        path("cc", script)
        assert "C library" not in look("compiler")


def test_another_compiler_than_the_host_s_is_not_asked_for_its_library(path):
    path("gcc", 'case "$*" in *--version*) echo gcc 9;; *) exit 1;; esac')
    assert CORES["host"].compiler != "gcc"
    found = look("compiler")
    assert found["gcc"].state is State.GOOD
    assert "C library" not in found


def test_a_program_that_does_not_start(path):
    path("qemu-system-arm", "echo cannot open shared object >&2; exit 127")
    broken = look("arm")["qemu-system-arm"]
    assert broken.state is State.BROKEN
    assert "status 127" in broken.found
    assert "cannot open shared object" in broken.found
    assert broken.mend == "apt-get install --reinstall qemu-system-arm"
    path("qemu-system-arm", 'case "$*" in *--version*) echo 7;; *) exit 1;; esac')
    assert look("arm")["boards"].found.startswith("none; not mps2-an385")
    path("arm-none-eabi-gcc", "exit 1")
    assert "cores with a C library" not in look("arm")
    path("qemu-system-arm", "exit 0")
    assert "says no version" in look("arm")["qemu-system-arm"].found


def test_cores_and_boards_that_some_releases_lack(path):
    """A compiler that knows all but the Cortex-M85, and an emulator of one board."""
    path("arm-none-eabi-gcc", 'case "$*" in *m85*) exit 1;; *) echo gcc 1;; esac')
    path("qemu-system-arm", 'echo "mps2-an386   a board"; echo "mps2-an3 another"')
    found = look("arm")
    cores = found["cores with a C library"]
    arm = [name for name, core in CORES.items() if core.compiler == "arm-none-eabi-gcc"]
    known = ", ".join(name for name in arm if name != "cortex-m85")
    assert (cores.state, cores.found) == (State.LIMITED, f"{known}; not cortex-m85")
    boards = found["boards"]
    absent = [b.name for b in BOARDS.values() if b.qemu == ARM[-1] and b.name != "mps2-an386"]
    assert (boards.state, boards.found) == (
        State.LIMITED,
        f"mps2-an386; not {', '.join(absent)}",
    )
    path("arm-none-eabi-gcc", 'case "$*" in *--version*) echo 1;; *) exit 1;; esac')
    none = look("arm")["cores with a C library"]
    assert (none.state, none.found) == (State.BROKEN, f"none; not {', '.join(arm)}")


@pytest.mark.device
def test_what_is_installed_here_is_good():
    found = look("arm")
    assert {found[program].state for program in ARM} == {State.GOOD}
    assert found["boards"].state is State.GOOD
    assert "cortex-m4" in found["cores with a C library"].found.partition(";")[0]


# Caches and the folder for temporary files


def test_a_cache_is_as_large_as_its_entries(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "cache"))
    assert (state_of("numba").entries, state_of("numba").problem) == (0, None)
    assert not (tmp_path / "cache").exists()
    for name in ("a", "b"):
        keep("numba", name, bytes(1000))
    files = list((tmp_path / "cache" / "numba").iterdir())
    state = state_of("numba")
    assert (state.entries, state.nbytes) == (2, sum(len(f.read_bytes()) for f in files))
    check = look("caches")["numba"]
    assert check.state is State.GOOD
    assert check.found == f"{tmp_path}/cache/numba, 2 files, {state.nbytes / 2**20:.1f} MiB"


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "file"))
    check = look("caches")["native"]
    assert check.state is State.BROKEN
    assert f"{tmp_path / 'file'} is no folder" in check.found
    assert "TINYRT_CACHE" in check.mend


def test_a_cache_that_others_may_write_to(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path))
    (tmp_path / "cuda").mkdir()
    assert state_of("cuda").problem is None
    (tmp_path / "cuda").chmod(0o777)
    assert "others may write" in state_of("cuda").problem
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert state_of("numba").problem == f"{tmp_path} cannot be written"


def test_a_cache_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path))
    file = tmp_path / "numba"
    file.write_text("no folder")
    found = look("caches")
    assert found["numba"].state is State.BROKEN
    assert found["numba"].found == f"{file}: it cannot be read: Not a directory"
    assert "TINYRT_CACHE" in found["numba"].mend
    assert (state_of("numba").entries, state_of("numba").nbytes) == (0, 0)
    assert found["native"].state is State.GOOD


def test_a_cache_without_a_home(monkeypatch):
    for name in ("TINYRT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def homeless():
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    assert "no home folder" in look("caches")["numba"].found


@pytest.mark.parametrize(("left", "state"), [(1, State.BROKEN), (0, State.GOOD)])
def test_room_for_temporary_files(left, state, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=doctor.LEAST_ROOM - left)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    check = look("temporary")["temporary files"]
    assert check.state is state
    assert check.found.endswith(f"{usage.free >> 20} MiB free")
    assert (check.mend is None) == (state is State.GOOD)


def test_a_folder_for_temporary_files_that_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    (check,) = doctor.PARTS["temporary"].look("temporary")
    assert (check.state, check.found) == (State.BROKEN, "no folder: No such file or directory")
    assert "TMPDIR" in check.mend


# Python and libraries


@pytest.mark.parametrize(("version", "state"), [((3, 10, 9), "broken"), ((3, 11, 0), "good")])
def test_an_old_python(version, state, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (*version, "final", 0))
    check = look("python")["python"]
    assert (check.state, check.found) == (state, ".".join(map(str, version)))
    assert (check.mend or "3.11").count("3.11") == 1


def requiring(monkeypatch, *lines, **versions):
    monkeypatch.setattr(metadata, "requires", lambda name: list(lines))

    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)


def test_libraries_missing_too_old_and_broken(monkeypatch):
    lines = ("json>=2.1", "=3", "absent>=1", "re", 'csv>=3; extra == "demo"', "no_such_module")
    requiring(monkeypatch, *lines, json="2.0.9", re="1", csv="3", no_such_module="7")
    found = look("libraries")
    assert list(found) == ["json", "absent", "re", "no_such_module"]
    assert found["json"].found == "2.0.9, wants >=2.1"
    assert found["absent"].found == "not installed, wants >=1"
    assert "does not load: ModuleNotFoundError" in found["no_such_module"].found
    states = [check.state for check in found.values()]
    assert states == [State.BROKEN, State.MISSING, State.GOOD, State.BROKEN]
    assert {c.mend for c in found.values()} == {None, "pip install --upgrade tinyrt"}
    assert look("demo")["csv"].state is State.GOOD


def test_an_extra_is_cured_by_its_name(monkeypatch):
    requiring(monkeypatch, 'absent>=1; extra == "search"', 'gone; extra == "cuda"')
    assert look("search")["absent"].mend == "pip install 'tinyrt[search]'"
    assert look("gpu")["gone"].mend == "pip install 'tinyrt[cuda]'"


def test_a_tree_that_is_not_installed(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    check = look("libraries")["tinyrt"]
    assert (check.state, check.mend) == (State.BROKEN, "pip install tinyrt")


@pytest.mark.parametrize(
    ("wanted", "installed", "met"),
    [
        (">=1.26", "1.26", True),
        (">=1.26", "1.26.0", True),
        ("==1.26.0", "1.26", True),
        (">=1.26", "1.25.9", False),
        (">=1.9", "1.26", True),
        ("<3", "3.0", False),
        (">=2,<3", "2.4.6rc1", True),
        (">=2,<3", "3.1", False),
        ("==1.8.1", "1.8.1", True),
        ("!=1.8", "1.8.0", False),
        (">1", "1", False),
        ("<=1", "1.0.1", False),
        ("~=1", "0.1", True),
        ("", "5", True),
        ("", None, False),
    ],
)
def test_bounds_of_versions(wanted, installed, met):
    assert Requirement("x", wanted, installed).is_met is met


def test_numbers_of_a_version():
    assert numbers("2.4.6rc1") == (2, 4, 6)
    assert numbers("post") == ()


def test_requirements_are_those_of_the_project():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert [f"{r.name}{r.wanted}" for r in requirements("")] == project["dependencies"]
    demo = [f"{r.name}{r.wanted}" for r in requirements("demo")]
    extras = project["optional-dependencies"]
    assert demo == extras["demo"]
    recipes = [f"{r.name}{r.wanted}" for r in requirements("recipes")]
    assert recipes == [line for line in extras["recipes"] if not line.startswith("tinyrt")]


def test_a_library_that_is_no_module_is_not_loaded():
    assert Requirement("nvidia-cuda-nvrtc", "", "1").failure() is None
    assert set(libraries.MODULES) >= {"scikit-learn"}


# GPU


def test_a_machine_without_a_gpu_says_so(monkeypatch):
    from tinyrt.backends.cuda import driver, nvrtc
    from tinyrt.errors import ToolError

    def no(*_):
        raise ToolError("there is none", hint="buy one")

    monkeypatch.setattr(driver, "open_driver", no)
    monkeypatch.setattr(nvrtc, "load_nvrtc", no)
    found = look("gpu")
    for what in ("GPU", "run-time compiler"):
        assert (found[what].state, found[what].found) == (State.MISSING, "there is none")
        assert found[what].mend == "buy one"


def test_a_gpu_is_named_by_its_architecture(monkeypatch):
    from types import SimpleNamespace

    from tinyrt.backends.cuda import driver, nvrtc

    monkeypatch.setattr(driver, "open_driver", lambda: SimpleNamespace(arch="sm_90"))
    compiler = SimpleNamespace(nvrtcVersion=lambda: (0, 13, 1))
    monkeypatch.setattr(nvrtc, "load_nvrtc", lambda: compiler)
    found = look("gpu")
    assert (found["GPU"].found, found["run-time compiler"].found) == ("sm_90", "13.1")


# The whole


def only(monkeypatch, *checks):
    """Parts that give these checks."""
    parts = {
        name: doctor.Part(part.use, lambda name: iter([c for c in checks if c.part == name]))
        for name, part in doctor.PARTS.items()
    }
    monkeypatch.setattr(doctor, "PARTS", parts)


@pytest.mark.parametrize("state", [State.MISSING, State.BROKEN])
def test_only_what_is_needed_must_work(state, monkeypatch):
    only(monkeypatch, Check("arm", "x", state, "?"), Check("python", "p", State.GOOD, "3"))
    assert api.examine().healthy
    assert api.examine(["riscv"]).healthy
    assert not api.examine(["arm"]).healthy


@pytest.mark.parametrize("part", ["python", "libraries", "temporary"])
def test_nothing_works_without_these(part, monkeypatch):
    only(monkeypatch, Check(part, "x", State.BROKEN, "?"))
    assert not api.examine().healthy


def test_what_is_limited_does_not_fail():
    check = Check("arm", "cores", State.LIMITED, "one; not another")
    assert Health((check,), frozenset({"arm"})).healthy


def test_as_plain_data():
    checks = Check("gpu", "g", State.MISSING, "?"), Check("arm", "x", State.GOOD, "1", "mend")
    needed = frozenset(doctor.PARTS) - {"gpu"}
    found = Health(checks, needed).as_dict()
    assert (found["healthy"], found["needed"]) == (True, sorted(needed))
    gpu, arm = found["checks"]
    assert (gpu["needed"], gpu["for"], gpu["state"]) == (False, doctor.PARTS["gpu"].use, "missing")
    assert (arm["needed"], arm["part"], arm["found"], arm["mend"]) == (True, "arm", "1", "mend")


def test_a_part_that_is_none_is_refused():
    for need in (["amr"], ["riscv", "amr", "arm"]):
        with pytest.raises(DataError, match="there is no part 'amr'") as caught:
            api.examine(need)
        assert caught.value.hint == "did you mean 'arm'?"
        assert "riscv" in caught.value.expected
