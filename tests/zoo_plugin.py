"""The zoo of public models, for tests that ask for it, and what a run without one says.

A zoo is the folder that TINYRT_ZOO names, or ``zoo/`` beside ``tests/``; ``make zoo`` fetches one.
Without it the tests that need it are skipped, and the run ends with how many these were.
TINYRT_REQUIRE_ZOO decides what must be there: ``0`` nothing, ``1`` what ``make zoo`` fetches (the
default where CI is set), ``all`` also the files that nobody publishes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.zoo import missing, unpublished

ROOT = Path(__file__).resolve().parents[1]
FETCH = "make zoo, or python -m tools.zoo FOLDER with TINYRT_ZOO=FOLDER"
NONE = "no zoo of public models"
UNPUBLISHED = frozenset(unpublished())
PART = "not published, so that make zoo cannot fetch it"


def pytest_configure(config):
    """Find the zoo, once; end the run where one is required and is not there."""
    default = ROOT / "zoo"
    if not os.environ.get("TINYRT_ZOO") and default.is_dir():
        os.environ["TINYRT_ZOO"] = str(default)
    folder = os.environ.get("TINYRT_ZOO")
    required = os.environ.get("TINYRT_REQUIRE_ZOO") or ("1" if os.environ.get("CI") else "0")
    if required not in ("0", "1", "all"):
        raise pytest.UsageError(f"TINYRT_REQUIRE_ZOO is {required!r}; it can be 0, 1 or all")
    if not folder:
        if required != "0":
            raise pytest.UsageError(f"this run needs the zoo of public models: {FETCH}")
        return
    # Tests start processes in other folders.
    folder = os.environ["TINYRT_ZOO"] = str(Path(folder).resolve())
    lacking = missing(Path(folder))
    if required == "all":
        lacking += [file for file in sorted(UNPUBLISHED) if not (Path(folder) / file).is_file()]
    if lacking:
        shown = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        raise pytest.UsageError(
            f"the zoo {folder} lacks {len(lacking)} of its files ({shown}): {FETCH}"
        )


class ZooPath(type(Path())):
    """A path that skips the test where it comes to a file that nobody publishes and is not here."""

    def __truediv__(self, name):
        """The path within this one, of the same kind."""
        path = super().__truediv__(name)
        if "/".join(path.parts[-2:]) in UNPUBLISHED and not path.exists():
            pytest.skip(f"{path.name}: {PART}")
        return path


@pytest.fixture(scope="session")
def zoo() -> Path:
    """The folder that holds ``models/``, ``data/`` and ``golden/``."""
    folder = os.environ.get("TINYRT_ZOO")
    if not folder:
        pytest.skip(NONE)
    return ZooPath(Path(folder).resolve())


def pytest_terminal_summary(terminalreporter):
    """Say what was not tested for want of models, and how to get them."""
    reasons = [
        report.longrepr[2]
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    ]
    without, partly = (sum(text in reason for reason in reasons) for text in (NONE, PART))
    if without:
        terminalreporter.write_sep("=", "the zoo is missing", yellow=True)
        terminalreporter.write_line(
            f"{without} tests were skipped for want of the zoo of public models.\n"
            f"To run them, fetch it (5 MB): {FETCH}.",
            yellow=True,
        )
    if partly:
        terminalreporter.write_sep("=", "the zoo is not whole", yellow=True)
        terminalreporter.write_line(
            f"{partly} tests were skipped, since they need files that nobody publishes, and that\n"
            "`make zoo` cannot fetch: tools/zoo.json lists them, with the reasons.",
            yellow=True,
        )
