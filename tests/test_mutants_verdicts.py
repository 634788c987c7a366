"""Faults by hand, and which tests' word is taken for a fault: of those that fail by it alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.mutants import by_hand, copies
from tools.mutants.__main__ import _judge
from tools.mutants.copies import Copy
from tools.mutants.faults import Place

MODULE = "def twice(x):\n    return x + x\n"
TESTS = {
    "test_a": "import module\n\ndef test_it():\n    module.seen = True\n",
    "test_behind": "import module\n\ndef test_it():\n    assert not hasattr(module, 'seen')\n",
    "test_broken": "def test_it():\n    raise OSError\n",
    "test_twice": "import module\n\ndef test_it():\n    assert module.twice(3) == 6\n",
}


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    """Runs of pytest start in half the time without plugins, which these tests have no use for."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "by"),
    [
        pytest.param(TESTS, "test_twice.py::test_it", marks=pytest.mark.whole),
        pytest.param(["test_a", "test_behind", "test_broken"], "", marks=pytest.mark.whole),
        (["test_twice"], "test_twice.py::test_it"),
    ],
)
@pytest.mark.whole
def test_a_fault_is_noticed_by_who_fails_by_it_alone(tmp_path: Path, names, by):
    for name, text in {"module": MODULE, **TESTS}.items():
        (tmp_path / f"{name}.py").write_text(text)
    files = [f"{name}.py" for name in names]
    reach = SimpleNamespace(tests_of=lambda place: files, seconds_of=lambda test: 1.0)
    fault = Place("module.py", "by hand", 0, 2), MODULE.replace("+", "*")
    verdict = _judge(fault, reach, Copy(tmp_path), set())
    assert (verdict.noticed, verdict.by) == (bool(by), by)


def test_faults_by_hand_stand_where_they_differ(tmp_path, monkeypatch):
    monkeypatch.setattr(by_hand, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text("def f(x):\n    y = x + 1\n    return y\n")
    faults = tmp_path / "faults.json"
    fault = {
        "path": "module.py",
        "before": "def f(x):\n    y = x + 1",
        "after": "def f(x):\n    y = x",
    }
    faults.write_text(json.dumps([fault]))
    [(place, after)] = by_hand.written(faults)
    assert (place.line, after) == (2, "def f(x):\n    y = x\n    return y\n")
    faults.write_text(json.dumps([fault | {"before": "x"}]))
    with pytest.raises(SystemExit, match="'x' stands there 2 times, expected once"):
        by_hand.written(faults)


def test_what_a_copy_has_started_is_ended_and_nothing_else(tmp_path):
    """An emulator has a session of its own, and goes on where its test is stopped."""
    own, other = (
        subprocess.Popen(
            [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"],
            env=os.environ | {"TINYRT_CACHE": str(tmp_path / name)},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        for name in ("cache", "cache2")
    )
    with own, other:
        assert own.stdout.readline() == other.stdout.readline() == b"\n"
        copies._end_all(str(tmp_path / "cache"))
        assert own.wait(10) == -signal.SIGKILL
        assert other.poll() is None
        other.kill()
