"""A process that keeps its memory: how often the system is asked for pages."""

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tinyrt.cluster import memory, workers
from tinyrt.cluster.memory import ENVIRONMENT, keep_memory

STEPS = """
import resource
import sys

import numpy as np

from tinyrt.cluster.memory import keep_memory

if sys.argv[1] == "keep":
    assert keep_memory()
for step in range(12):
    if step == 2:  # what the first steps ask for is new in any case
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(1 << 19) for _ in range(10)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*how, **environment):
    """Pages that ten steps of 40 MB have asked the system for."""
    bare = {k: v for k, v in os.environ.items() if k not in ENVIRONMENT}
    command = [sys.executable, "-c", STEPS, *how]
    done = subprocess.run(
        command, env=bare | environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is no glibc")
def test_what_a_step_frees_is_there_for_the_next():
    pages = 10 * 40 * (1 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert faults("plain") > pages // 4
    assert faults("keep") < pages // 50
    asked = dict.fromkeys(ENVIRONMENT, "65536")
    assert faults("keep", **asked) > pages // 4, "what the environment says stays"


def test_the_environment_comes_first(monkeypatch):
    asked = []
    library = SimpleNamespace(mallopt=lambda *given: (asked.append(given), 1)[1])
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: library)
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "7")
    assert keep_memory()
    assert asked == [(-3, 1 << 25)]
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_")
    assert keep_memory()
    assert asked[1:] == [(-1, 1 << 28), (-3, 1 << 25)]
    library.mallopt = lambda *given: 0
    assert not keep_memory()
    del library.mallopt
    assert not keep_memory()


def test_workers_that_are_started_have_it_from_the_beginning():
    assert ENVIRONMENT.items() <= workers.ENVIRONMENT.items()
    assert workers.ENVIRONMENT["OMP_NUM_THREADS"] == 1
