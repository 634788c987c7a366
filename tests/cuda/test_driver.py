"""``CudaDriver`` through NVIDIA's own package, which here finds a driver that has no GPU."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cuda.requirements import needs_cxx
from tinyrt.backends.cuda.host import find_compiler

HERE = Path(__file__).parent
pytestmark = [
    needs_cxx,
    pytest.mark.skipif(
        (find_spec("cuda") is None or sys.platform != "linux") and not os.environ.get("CI"),
        reason="cuda-bindings is not installed: pip install 'tinyrt[cuda]'",
    ),
]


@pytest.mark.slow
def test_every_call_is_what_the_package_and_a_driver_take(tmp_path):
    """Arguments in their order and types, capture without forbidden calls, all given back."""
    library = tmp_path / "libcuda.so.1"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    source = ["-x", "c", str(HERE / "stub_driver.c"), "-o", str(library)]
    compiler = [find_compiler(), "-D_GNU_SOURCE", "-shared", "-fPIC"]
    subprocess.run([*compiler, *warnings, *source, "-ldl"], check=True)
    paths = [str(tmp_path), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cuda.drive_stub"],
        cwd=HERE.parents[1],
        env={**os.environ, "LD_LIBRARY_PATH": ":".join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "all answers are right\n"
