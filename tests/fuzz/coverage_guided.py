"""``python -m tests.fuzz.coverage_guided KIND FOLDER``: Atheris, with the mutators of this folder.

Needs ``pip install atheris``, which is no requirement of the tests. The folder collects inputs
that reach new code; it is filled with the seeds where it is empty. Options behind the folder go to
libFuzzer, such as ``-max_total_time=600``. It stops at the first finding, and writes its file.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import tempfile
from pathlib import Path

import atheris
import numpy as np

import tinyrt

FORMULAS = ("compiled", "elementary", "elementary_formulas", "elementary_loops")
COMPILED = [
    *("tinyrt.fixedpoint", "tinyrt.backends.lanes", "tinyrt.backends.numba"),
    *(f"tinyrt.floatmath.{name}" for name in FORMULAS),
    *(
        f"tinyrt.backends.numba.{path.stem}"
        for path in Path(tinyrt.__path__[0]).glob("backends/numba/*.py")
    ),
]
"""What Numba compiles, which cannot be instrumented."""

with atheris.instrument_imports(include=["tinyrt"], exclude=COMPILED):
    from tests.fuzz.checks import check
    from tests.fuzz.runner import MUTATORS
    from tests.fuzz.seeds import seeds

MAX_MEMORY_MB = 2048
MAX_BYTES = 65536


def main() -> None:
    """Run until a finding, or until stopped."""
    kind, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        for data in seeds(kind, everything=False):
            (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    scratch = Path(tempfile.mkdtemp(prefix="tinyrt-fuzz-"))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def one(data: bytes) -> None:
        check(kind, data, scratch, np.random.default_rng(len(data)))

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        if rng.random() < 0.3:
            return atheris.Mutate(data, most)
        try:
            changed = MUTATORS[kind](data, rng)
        except Exception:  # what libFuzzer kept is no file that can be unpacked
            return atheris.Mutate(data, most)
        return changed if len(changed) <= most else atheris.Mutate(data, most)

    options = [f"-rss_limit_mb={MAX_MEMORY_MB}", "-timeout=20", f"-max_len={MAX_BYTES}"]
    arguments = [sys.argv[0], *options, *sys.argv[3:], str(corpus)]
    atheris.Setup(arguments, one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
