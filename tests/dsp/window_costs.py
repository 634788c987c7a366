"""Instructions of windows of features by themselves on emulated cores."""

from __future__ import annotations

from pathlib import Path

from tests.dsp.counting import APART, counted, hooked, invoking, with_kernels
from tinyrt.dsp.standard import GROUPS

KERNELS = ("tinyrt_standard", "tinyrt_signal_filter_bank_square_root")
MOST, WIDEST = 4_000, 80
"""Most features of a window, and of a row."""

BEGIN = f"""
#include "clip.h"
#include "tinyrt/tinyrt_standard.h"

static uint16_t window[{MOST}];
static tinyrt_standard_group groups[{WIDEST}];
static int32_t row[{WIDEST}];
"""

ONE = """
    {
        const tinyrt_standard_params p = {ROWS, SIZE, GROUPS, 0};
        const tinyrt_standard_params *volatile hidden = &p;
        BEGIN(0); tinyrt_standard(hidden, window, groups); END(0);
        BEGIN(1);
        for (int32_t y = 0; y < ROWS; ++y) {
            tinyrt_standard_row(hidden, groups, window + SIZE * y, row);
        }
        END(1);
    }
"""

FILL = f"""
    uint32_t random = 7;
    for (int32_t i = 0; i < {MOST}; ++i) {{
        random = random * 1664525U + 1013904223U;
        window[i] = (uint16_t)(random >> 22);
    }}
"""

FITTED = tuple(
    (rows, size, group)
    for rows, size in ((49, 24), (10, 40), (98, 40), (99, 13), (20, 8), (7, 64), (33, 17), (6, 30))
    for group in GROUPS
)
"""Rows, features of a row, and what has a mean: constants are read off these."""


def measured(windows: list[tuple[int, int, str]], core: str, folder: Path) -> list[dict[str, int]]:
    """Step -> instructions of each window."""
    parts = [FILL]
    for k, (rows, size, group) in enumerate(windows):
        one = ONE.replace("ROWS", str(rows)).replace("SIZE", str(size))
        parts.append(hooked(one.replace("GROUPS", str(1 if group == GROUPS[0] else size)), k))
    source = BEGIN + invoking("\n".join(parts))
    found = counted(with_kernels(KERNELS, core, folder), "top_k", core, source, folder)
    return [
        {"means and deviations": found[APART * k], "normal rows": found[APART * k + 1]}
        for k in range(len(windows))
    ]
