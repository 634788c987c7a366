"""Faults that no test can notice, since nothing that anybody sees depends on them, and why.

Those of single lines stand in ``equivalents.toml``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

EQUIVALENT: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""File -> ``before -> after`` as the command prints it -> the reason."""

EQUIVALENT_EVERYWHERE: dict[str, str] = {
    r"slots=True": "a dataclass with slots only takes less memory",
    r"frozen=True": "nobody assigns to values that are meant to be frozen; mypy sees it",
    r"^(LIMIT|EMULATOR|PROBE|CONNECT)_S = ": (
        "how long programs of others may take is chosen; tests hold that they are stopped"
    ),
    r"maxsize=|lru_cache": "how many answers a cache keeps only costs time",
    r"^batch(: int = 32|=8,)$|\bTraining\(epochs=|\bEpochs\(\d|\bVariation\(scale=": (
        "how long, how fast and on what a recipe trains is chosen; tests hold what it reaches"
    ),
    r"^ASK, PASS = |> 2 \* workers:": "how much is counted or fetched ahead costs time alone",
    r"^PIECE = \d+ << |^GPU_BATCH = |^MAX_BYTES = 2\*\*28$": (
        "how much is done or kept at a time costs time and memory alone"
    ),
    r"TINYRT_ASSERT\(|TINYRT_NOINLINE|TINYRT_UNROLL": "checks of debug builds, hints for compilers",
}
"""Pattern of the line -> the reason."""
