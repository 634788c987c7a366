"""Which plan an export takes: convolutions by tiles are faster, and need more scratch memory."""

from types import SimpleNamespace

import pytest

from tests.memory import nets
from tinyrt.errors import BudgetError
from tinyrt.export import ExportOptions, bundle, export_graph
from tinyrt.export.request import Request
from tinyrt.export.states import StateLayout
from tinyrt.ir import DType, Value
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.resize import ResizeAttrs

NO_STATES = StateLayout({}, 0, {}, frozenset(), ())
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


@pytest.mark.parametrize("limit", [None, 4096])
@pytest.mark.parametrize(
    ("asked", "planner"),
    [({"input_rows": True}, "plan_pushed"), ({"by_rows": True}, "plan_by_rows"), ({}, None)],
)
def test_an_arena_that_is_small_enough_is_not_made_smaller(asked, planner, limit, monkeypatch):
    """Rows are planned where they are asked for, or a limit is; the rest as a whole."""
    told = []
    for name in ("plan_pushed", "plan_by_rows", "plan_memory"):
        monkeypatch.setattr(bundle, name, lambda *_, n=name, **k: told.append((n, k.get("enough"))))
    bundle._plan(nets.random_net(3), None, ExportOptions(max_arena=limit, **asked), NO_STATES)
    usual = "plan_by_rows" if limit else "plan_memory"
    enough = (limit or 0) if planner or limit else None
    assert told == [(planner or usual, enough)]


def test_a_limit_that_takes_rows_and_no_tiles_is_kept(tmp_path, monkeypatch):
    """What resizes parts a large tensor, which rows make smaller, from a convolution by tiles."""
    monkeypatch.setattr(nets, "MAX_PIXELS", 20_000)
    net = nets.RandomNet(5)
    x = net.values["x"] = Value("x", DType.INT8, (1, 16, 16, 8), net.q)
    for channels, taps in ((64, 1), (16, 1), (16, 3)):
        if taps == 3:
            x = net.op("resize_nearest_neighbor", ResizeAttrs((16, 32)), x.name)
        names = net.weights((channels, taps, taps, x.shape[3]), 0)
        x = net.op("conv2d", Conv2dAttrs(padding="SAME"), x.name, *names)
    graph = net.graph(x.name)
    whole = export_graph(graph, tmp_path / "a", optimize="speed")
    assert "tinyrt_winograd_s8" in whole.kernels
    options = ExportOptions(max_arena=9936)
    small = export_graph(graph, tmp_path / "b", optimize="speed", options=options)
    assert (small.arena_bytes, small.row_by_row) == (9936, ("0-1",))
    assert "tinyrt_winograd_s8" not in small.kernels
    with pytest.raises(BudgetError, match="the arena needs 9,936 bytes"):
        export_graph(graph, tmp_path / "c", options=ExportOptions(max_arena=9935))
