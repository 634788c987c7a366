"""The core stays small enough to be read in one go."""

from pathlib import Path

import tinyrt.train

CORE = (
    "function",
    "tape",
    "tensor",
    "arithmetic",
    "normalise",
    "losses",
    "autograd",
    "gradcheck",
    "module",
    "init",
    "nn",
    "sequence",
    "checkpoint",
    "optim",
)
LINES = 2_500
LINES_PER_FILE = 400


def test_autograd_layers_and_optimisers_fit_into_2500_lines():
    folder = Path(tinyrt.train.__file__).parent
    lines = {name: len((folder / f"{name}.py").read_text().splitlines()) for name in CORE}
    assert sum(lines.values()) < LINES, lines
    assert max(lines.values()) <= LINES_PER_FILE, lines
