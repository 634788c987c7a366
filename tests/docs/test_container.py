"""The Dockerfile and the action: what they name is there, and the script does what it says."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.docs.pages import ROOT
from tests.graphs import small_cnn
from tinyrt.api.doctor import PARTS
from tinyrt.cli.app import SECTIONS
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate.toolchain import PACKAGES
from tinyrt.quantize import QuantConfig, quantize_graph

yaml = pytest.importorskip("yaml")

TEXT = (ROOT / "Dockerfile").read_text()
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in re.sub(r"\\\n\s*", " ", TEXT).splitlines()
    if line and not line.startswith("#")
]
ACTION = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
PAGE = (ROOT / "docs" / "ci.md").read_text()


def lines(word):
    return [rest for name, rest in INSTRUCTIONS if name == word]


def ignored(path):
    """Whether the build's context lacks a path: the last pattern that matches decides."""
    patterns = (ROOT / ".dockerignore").read_text().split()
    kept = {p[1:] for p in patterns if p.startswith("!")}
    assert patterns[0] == "*"
    return not any(path == p or path.startswith(f"{p}/") for p in kept)


def test_instructions_are_ones_that_docker_knows():
    known = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in INSTRUCTIONS} == known
    bases = [line.split()[0] for line in lines("FROM")]
    assert set(bases) == {"debian:12-slim"}


def test_the_last_stage_has_a_user_and_ends_with_the_command():
    last = INSTRUCTIONS[max(i for i, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM") :]
    assert ["USER", "tinyrt"] in last
    assert "useradd" in " ".join(rest for name, rest in last if name == "RUN")
    assert yaml.safe_load(lines("ENTRYPOINT")[0]) == ["tinyrt"]
    words = yaml.safe_load(lines("CMD")[0])
    assert words[0] in SECTIONS["Find your way"]
    assert {word for word in words[1:] if word != "--need"} <= set(PARTS)


def test_what_is_copied_is_in_the_context():
    for rest in lines("COPY"):
        if not rest.startswith("--from=build"):
            source = rest.split()[0]
            assert source == "." or ((ROOT / source).exists() and not ignored(source))
    project = (ROOT / "pyproject.toml").read_text()
    assert 'backend-path = ["tools"]' in project
    for path in ("pyproject.toml", "tinyrt/__init__.py", "tools/build_backend.py", "README.md"):
        assert (ROOT / path).exists()
        assert not ignored(path)
    assert ignored("tests/graphs.py")
    assert ignored(".git")


def test_every_compiler_and_emulator_is_installed():
    installed = set(re.findall(r"[\w.+-]+", lines("RUN")[-1]))
    wanted = {name for packages in PACKAGES.values() for name in packages.split()}
    brought = {"binutils", "binutils-arm-none-eabi", "binutils-riscv64-unknown-elf"}
    assert wanted - brought <= installed, "compilers bring their binutils"


def test_each_apt_line_leaves_no_lists():
    for rest in lines("RUN"):
        if "apt-get install" in rest:
            assert rest.startswith("apt-get update")
            assert "--no-install-recommends" in rest
            assert "rm -rf /var/lib/apt/lists/*" in rest


def test_requirements_are_pinned_with_hashes():
    (install,) = [rest for rest in lines("RUN") if "--requirement" in rest]
    assert "--require-hashes" in install
    pinned = (ROOT / "requirements-hashes.txt").read_text().splitlines()[1:]
    assert all(re.match(r"[\w.-]+==\S+ --hash=sha256:[0-9a-f]{64}", line) for line in pinned)


# The action


def test_every_input_is_used_described_and_documented():
    script = yaml.safe_dump(STEPS)
    for name, entry in ACTION["inputs"].items():
        assert f"inputs.{name}" in script
        assert entry["description"]
        assert f"\n| `{name}` |" in PAGE
    assert not re.search(r"\$\{\{", "".join(step["run"] for step in STEPS)), "inputs are no script"


def run_action(folder, **inputs):
    """The last step, with the inputs as it would have them; tinyrt is this one."""
    (step,) = [step for step in STEPS if step["name"] == "check"]
    binary = folder / "tinyrt" / "bin" / "tinyrt"
    binary.parent.mkdir(parents=True)
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} -m tinyrt "$@"\n')
    binary.chmod(0o755)
    defaults = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()}
    given = defaults | inputs
    names = {var: re.search(r"inputs\.([\w-]+)", text)[1] for var, text in step["env"].items()}
    env = os.environ | {"RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    env |= {var: given[name] for var, name in names.items()} | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("limit", "status"), [("1M", 0), pytest.param("1", 1, marks=pytest.mark.whole)]
)
def test_the_action_checks_and_summarises(limit, status, tmp_path):
    x = np.random.default_rng(1).normal(size=(10, 8, 8, 3)).astype(np.float32)
    save_tflite(quantize_graph(small_cnn(), x, QuantConfig()), tmp_path / "my net.tflite")
    np.savez(tmp_path / "d.npz", x=x, y=np.zeros(10, int))
    (tmp_path / "budget.toml").write_text(f'[file]\nbytes = "{limit}"\n')
    found, text = run_action(tmp_path, model="my net.tflite", data="d.npz")
    assert found == status, text
    assert "top1" in text
    summary = (tmp_path / "summary").read_text()
    assert summary == (tmp_path / "tinyrt-check.md").read_text()
    assert ("**fails**" in summary) == bool(status)


@pytest.mark.whole
def test_a_baseline_that_is_missing_fails_the_action(tmp_path):
    (tmp_path / "budget.toml").write_text("[file]\nbytes = 1\n")
    found, text = run_action(tmp_path, model="none.tflite", baseline="b.json")
    assert found == 1
    assert "cannot read the baseline" in text
    assert not (tmp_path / "summary").exists()
