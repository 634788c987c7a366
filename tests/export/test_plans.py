"""Which plan an export takes: convolutions by tiles are faster, and need more scratch memory."""

from types import SimpleNamespace

import pytest

from tinyrt.errors import BudgetError
from tinyrt.export import ExportOptions, bundle
from tinyrt.export.request import Request

NONE = None
"""A region is too small."""


def whole(nbytes):
    return SimpleNamespace(arena_bytes=nbytes, segments=())


def by_rows(nbytes):
    return SimpleNamespace(arena_bytes=nbytes, segments=("some",))


LIMIT = {"max_arena": 100}
CASES = {
    "tiles fit": (whole(100), whole(60), LIMIT, True),
    "tiles fit without a limit": (whole(900), whole(60), {}, True),
    "tiles are too large": (whole(101), whole(100), LIMIT, False),
    "tiles take rows": (by_rows(80), whole(90), LIMIT, False),
    "tiles take rows that are asked for": (by_rows(80), whole(60), LIMIT | {"by_rows": True}, True),
    "tiles take rows that are pushed": (by_rows(80), whole(60), {"input_rows": True}, True),
    "asked for, and too large": (by_rows(101), by_rows(90), LIMIT | {"by_rows": True}, False),
    "both take rows": (by_rows(80), by_rows(60), LIMIT, True),
    "tiles are too large by rows": (by_rows(101), by_rows(100), LIMIT, False),
    "both are too large": (by_rows(130), by_rows(120), LIMIT, False),
    "both are too large, and tiles smaller": (by_rows(120), by_rows(130), LIMIT, True),
    "no place for tiles": (NONE, whole(60), {}, False),
    "no place for tiles, and rows": (NONE, by_rows(60), LIMIT, False),
    "no place for tiles, and too large": (NONE, whole(101), LIMIT, False),
}
"""What is planned with tiles and without, what is asked for, and whether tiles stay."""


@pytest.mark.parametrize("case", CASES)
def test_tiles_go_where_they_alone_stand_against_a_plan(case, monkeypatch):
    first, other, asked, stays = CASES[case]

    def plan(graph, kernels, options, states):
        found = first if kernels.target.tiles else other
        if found is NONE:
            raise BudgetError("a region is too small")
        return found

    monkeypatch.setattr(bundle, "_plan", plan)
    request = Request.of("cortex-m4", "balanced", ExportOptions(**asked))
    target, found = bundle._planned(None, request, None)
    assert (target.tiles, found) == (stays, first if stays else other)
