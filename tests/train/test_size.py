"""The core stays small enough to be read in one go."""

from pathlib import Path

import tinyrt.train

LAYERS = ("losses", "nn", "sequence", "checkpointing", "optim")
"""What is core beside the modules of the room of that name."""

LINES = 2_500
LINES_PER_FILE = 400


def test_autograd_layers_and_optimisers_fit_into_2500_lines():
    folder = Path(tinyrt.train.__file__).parent
    files = [*(folder / "core").glob("*.py"), *(folder / f"{name}.py" for name in LAYERS)]
    lines = {file.stem: len(file.read_text().splitlines()) for file in files}
    assert sum(lines.values()) < LINES, lines
    assert max(lines.values()) <= LINES_PER_FILE, lines
