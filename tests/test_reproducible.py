"""The same bytes whatever the machine; ``python -m tests.reproducible`` varies more, one by one."""

import os
import subprocess
import sys
import traceback
import warnings
from contextlib import redirect_stdout
from io import StringIO

import pytest

from tests.reproducible import (
    OLD_LLVM,
    ROOT,
    differences,
    digests,
    digests_of,
    other_settings,
    work,
)

pytestmark = pytest.mark.slow

UNITS = """
import hashlib
import numpy as np
from tinyrt.floatmath import elementary
from tinyrt.floatmath.products import matmul

rng = np.random.default_rng(0)
x, w = rng.normal(size=(9, 70)).astype(np.float32), rng.normal(size=(70, 33)).astype(np.float32)
found = [matmul(x, w), elementary.exp(rng.normal(size=5000).astype(np.float32))]
print(hashlib.sha256(b"".join(a.tobytes() for a in found)).hexdigest())
"""


def usual_digests(out):
    """What is written without further settings: by a child, which finds everything imported."""
    out.mkdir()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            warnings.simplefilter("ignore")
            os.chdir(out)
            work(out, "small")
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    return digests_of(out)


@pytest.mark.whole
def test_settings_of_a_process_and_its_libraries_change_no_byte(tmp_path):
    usual = usual_digests(tmp_path / "usual")
    assert len(usual) > 50
    assert differences(usual, digests(other_settings(), tmp_path, "small")) == []


def test_compiled_sums_are_the_same_for_a_cpu_without_fma_and_wide_vectors(tmp_path):
    def found(**variables):
        return subprocess.run(
            [sys.executable, "-c", UNITS],
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    # Not optimised, it compiles quickly; for that, Numba must not look into its usual cache.
    quickly = {"NUMBA_OPT": "0", "NUMBA_CACHE_DIR": str(tmp_path)}
    usual = StringIO()
    with redirect_stdout(usual):
        exec(UNITS, {})
    assert usual.getvalue() == found(**OLD_LLVM, **quickly)
