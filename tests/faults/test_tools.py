"""Compilers and emulators that are missing, hang, or say nothing: named, and never waited for."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.export.models import dense
from tests.graphs import small_cnn
from tinyrt import tools
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ToolError
from tinyrt.interpreter import Interpreter, native
from tinyrt.tools import OutOfTimeError, run_tool


def script(folder, name, body):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


HANGS = "echo $$ > pid; sleep 60 & echo $! > child; echo last words >&2; wait"


def is_gone(path):
    """Whether the process whose number the file holds has ended."""
    number = int(path.read_text())
    for _ in range(100):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{number}/stat")
        if state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_program_that_hangs_is_killed_with_all_that_it_started(tmp_path):
    program = script(tmp_path, "tool", HANGS)
    with pytest.raises(OutOfTimeError, match=r"tool did not finish within 0.5 s(.|\n)*last words"):
        run_tool([program], cwd=tmp_path, limit_s=0.5)
    assert is_gone(tmp_path / "pid")
    assert is_gone(tmp_path / "child")


def test_a_program_that_prints_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "MAX_OUTPUT", 100_000)
    program = script(tmp_path, "tool", "while :; do echo no end; done")
    with pytest.raises(ToolError, match="prints without end") as caught:
        run_tool([program], limit_s=20)
    assert len(str(caught.value).splitlines()) <= 12


def test_words_of_a_program_are_few_and_harmless(tmp_path):
    noise = r"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\033[2Jline %s\377\n' $i; done"
    done = run_tool([script(tmp_path, "tool", f"{noise}; exit 3")])
    assert done.status == 3
    assert done.last_words.splitlines()[-1] == "?[2Jline 12�"
    assert len(done.last_words.splitlines()) == tools.MAX_LINES


@pytest.mark.parametrize("body", ["", "not a program"])
def test_a_program_that_cannot_be_run_is_named(tmp_path, body):
    program = tmp_path / "tool"
    if body:
        program.write_text(body)
    with pytest.raises(ToolError, match=r"cannot run .*tool"):
        run_tool([program])


@pytest.mark.parametrize("seconds", ["soon", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_named(monkeypatch, seconds):
    monkeypatch.setenv("TINYRT_TOOL_SECONDS", seconds)
    with pytest.raises(ToolError, match=f"TINYRT_TOOL_SECONDS is '{seconds}'"):
        run_tool(["true"])


# The compiler of backend native


def refused_natively(graph=None):
    interpreter = Interpreter.from_graph(graph or small_cnn(), backend="native")
    with pytest.raises(ToolError) as caught:
        interpreter.allocate_tensors()
    return str(caught.value)


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Writes a compiler; what the real one has answered is not remembered."""
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TINYRT_TOOL_SECONDS", "0.5")
    monkeypatch.chdir(tmp_path)

    def written(body):
        path = script(tmp_path, "fakecc", body)
        monkeypatch.setattr(native, "find_compiler", lambda: str(path))
        for function in (native.core_of, native.flags_of, native._host):
            function.cache_clear()

    yield written
    for function in (native.core_of, native.flags_of, native._host):
        function.cache_clear()


def test_a_compiler_that_hangs_when_it_is_asked_something(compiler):
    compiler(HANGS)
    assert "fakecc did not finish" in refused_natively()


def test_a_compiler_that_hangs_when_it_builds(compiler, tmp_path):
    compiler(f'case "$*" in *-shared*) {HANGS};; esac')
    before = set(tmp_path.iterdir()) | {tmp_path / "pid", tmp_path / "child"}
    said = refused_natively()
    assert "last words" in said
    assert "TINYRT_TOOL_SECONDS" in said
    assert set(tmp_path.iterdir()) == before


def test_a_compiler_that_fails_shows_the_end_of_what_it_said(compiler):
    compiler('case "$*" in *-shared*) for i in $(seq 99); do echo oops $i >&2; done; exit 1;; esac')
    said = refused_natively()
    assert "oops 99" in said
    assert len(said.splitlines()) <= 12


def test_a_compiler_that_builds_nothing(compiler):
    compiler("exit 0")
    assert "could not build the model" in refused_natively()


def test_auto_does_without_a_compiler_that_hangs(compiler):
    compiler(HANGS)
    interpreter = Interpreter.from_graph(small_cnn(), backend="auto")
    interpreter.allocate_tensors()
    assert interpreter.backend == "numba"


# Signals in the middle of a command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 128 + signal.SIGTERM, marks=pytest.mark.whole),
    ],
)
@pytest.mark.whole
def test_a_command_that_is_ended_leaves_nothing_behind(tmp_path, number, status):
    """While it waits for a compiler: exit code, no traceback, no folder, no process."""
    for name in ("bin", "tmp", "work"):
        (tmp_path / name).mkdir()
    script(tmp_path / "bin", "cc", f'cd {tmp_path}; case "$*" in *-shared*) {HANGS};; esac')
    save_tflite(dense(), tmp_path / "work" / "net.tflite")
    np.savez(tmp_path / "work" / "x.npz", x=np.zeros((1, 4), np.int8))
    files = set((tmp_path / "work").iterdir())
    environment = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "TMPDIR": str(tmp_path / "tmp"),
        "TINYRT_CACHE": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-m", "tinyrt", "run", "net.tflite", "-i", "x.npz", "-o", "y.npz"]
    with subprocess.Popen(
        [*command, "--backend", "native"],
        cwd=tmp_path / "work",
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (tmp_path / "child").exists():
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        assert list((tmp_path / "tmp").iterdir())
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == status, said
    assert "Traceback" not in said
    assert list((tmp_path / "tmp").iterdir()) == []
    assert set((tmp_path / "work").iterdir()) == files
    assert is_gone(tmp_path / "pid")
    assert is_gone(tmp_path / "child")
