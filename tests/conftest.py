"""Fixtures that every test may ask for."""

import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.sampling import WHOLE
from tinyrt.cluster.memory import keep_memory

# Shells start what runs in the background with Ctrl-C ignored, and commands that tests start would
# inherit that; those that ask whether Ctrl-C ends a command need it heeded.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that must be free there: the tests' files take a tenth of it."""


def _is_roomy(folder: Path) -> bool:
    """Whether programs can be built and run there, too."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    may_execute = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return may_execute and shutil.disk_usage(folder).free >= ROOM


# Many tests write thousands of small files, which takes disks a millisecond each.
if "TMPDIR" not in os.environ and _is_roomy(MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# Threads of BLAS that wait for work keep a processor busy. Tests run on all processors already, and
# their matrices are small. It reads this when NumPy is first imported, which is after this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Quantising and training free at each step what the next one asks for: half the time of such tests
# went into pages that the system zeroed again. Processes that tests start are as users have them.
keep_memory()

pytest_plugins = [
    "tests.generators_plugin",
    "tests.refusals_plugin",
    "tests.refusal_texts_plugin",
    "tests.zoo_plugin",
    "tests.kept_objects",
    "tests.outcomes_plugin",
]

# The same examples in every run, however slow the machine is.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Look for no garbage among the tests themselves: not yet, and not in any later search."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config, items):
    """Leave tests that are marked ``whole`` to ``make test-all``."""
    left = [] if WHOLE else [item for item in items if item.get_closest_marker("whole")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("whole")]
