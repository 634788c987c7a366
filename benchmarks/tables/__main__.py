"""Measure the tables of pages anew: ``python -m benchmarks.tables [NAMES] [--write]``.

Each lies between the comments ``<!-- NAME -->`` and ``<!-- end of NAME -->`` of its page. All of
them take some minutes. ``TINYRT_ZOO`` names the folder with models/ and golden/.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.tables import kernels, quantised, recurrences, rows
from tools.page import write_table

DOCS = Path(__file__).resolve().parents[2] / "docs"

TABLES = {
    "kernels.md": {
        "tiles": kernels.tiles,
        "one-row": kernels.one_row,
        "modes": kernels.modes,
        "zeros": kernels.zeros,
        "narrow": kernels.narrow,
        "wide": kernels.wide,
        "unsigned": kernels.unsigned,
        "extrema": kernels.extrema,
        "recurrent": kernels.recurrent,
        "cases": kernels.cases,
        "floats": kernels.floats,
        "beside": kernels.beside,
    },
    "memory.md": {
        "rows": rows.rows,
        "code-of-rows": rows.code_of_rows,
        "rows-on-vectors": rows.rows_on_vectors,
        "few-rows": rows.few_rows,
    },
    "slices.md": {"slices": rows.slices, "other-cores": rows.slices_on_other_cores},
    "quantize.md": {
        "schemes": quantised.schemes,
        "pointwise": quantised.pointwise,
        "budgets": quantised.budgets,
    },
    "convert.md": {
        "dead-channels": quantised.dead_channels,
        "lstm": recurrences.lstm_forms,
    },
    "updates.md": {"costs": rows.blobs},
}
"""Page -> name of a table -> what makes it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [name for page in TABLES.values() for name in page]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--write", action="store_true", help="put the tables into their pages")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no table is called {', '.join(sorted(unknown))}")
    for page, tables in TABLES.items():
        for name, make in tables.items():
            if options.names and name not in options.names:
                continue
            found = make()
            print(f"docs/{page}: {name}\n\n{found}\n", flush=True)
            if options.write:
                write_table(name, found, DOCS / page)


if __name__ == "__main__":
    main()
