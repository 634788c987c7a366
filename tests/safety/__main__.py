"""Write docs/safety.md: ``python -m tests.safety``, with ``--measure`` from new figures."""

import json
import os
import sys
from pathlib import Path

from tests.safety.figures import FIGURES, load, measure
from tests.safety.page import PAGE, page

if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        figures = measure(Path(os.environ["TINYRT_ZOO"]))
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(load()), encoding="utf-8")
