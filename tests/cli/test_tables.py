"""What tables show of figures that tests make up, line by line, on a screen of 80 columns."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.screen import lines_of, styled
from tests.graphs import Builder
from tinyrt.api import inspect_model
from tinyrt.backends.support import support_rows
from tinyrt.cli import tables
from tinyrt.cli.arena_map import arena_map
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.interpreter.profile import OpTime
from tinyrt.ir import DType, RewriteLog, Value
from tinyrt.memory import ArenaPlan, Buffer
from tinyrt.metrics import sqnr_db
from tinyrt.ops.mean import MeanAttrs

NUMBERS = [
    (1234567, "1,234,567"),
    (True, "yes"),
    (False, "NO"),
    (None, "-"),
    (0.5, "0.5000"),
    (-0.25, "-0.2500"),
    (0.99996, "1.0000"),
    (1.0, "1.00"),
    (-1.0, "-1.00"),
    (1234.567, "1,234.57"),
    (0.001, "0.0010"),
    (0.00099, "9.9e-04"),
    (-2e-6, "-2.0e-06"),
    ("text", "text"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS, ids=str)
def test_a_figure_is_as_short_as_people_read_it(value, text):
    assert tables.number(value) == text


def test_zero_is_no_small_fraction():
    assert (tables.number(0.0), tables.number(0)) == ("0.0000", "0")


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (8, ""), (9, "\nand 1 more"), (20, "\nand 12 more")]
)
def test_a_few_of_many_shapes_are_shown_one_below_the_other(count, more):
    shapes = {f"[t]\x1b{i}": [1, i] for i in range(count)}
    shown = "\n".join(f"[t]_{i} 1 × {i}" for i in range(min(count, 8)))
    assert tables.number(shapes) == f"{shown}{more}"


def test_bytes_of_regions_have_their_thousands_apart():
    assert tables.number({"dtcm": 8_192, "sram": 512}) == "dtcm 8,192\nsram 512"
    nested = {"longest": {"instructions": 12_000, "ops": ["conv2d", "add"]}, "count": 2}
    assert tables.number(nested) == "longest instructions 12,000, ops conv2d, add\ncount 2"
    assert tables.number(["a", "b"]) == "['a', 'b']"


def test_a_layer_has_its_whole_name():
    assert tables.layer("block/" * 80) == "block/" * 80
    assert tables.layer("a`b") == "a_b"


DECIBELS = {None: "-", 33.868: "33.87", 199.99: "199.99", 200.0: "equal"}


@pytest.mark.parametrize("db", DECIBELS)
def test_no_difference_is_no_number_of_decibels(db):
    assert tables.decibels(db) == DECIBELS[db]


def test_what_counts_as_equal_is_the_distance_of_equal_signals():
    x = np.arange(1.0, 9.0).reshape(2, 4)
    assert {tables.decibels(float(db)) for db in sqnr_db(x, x)} == {"equal"}
    assert "equal" not in {tables.decibels(float(db)) for db in sqnr_db(x, x * (1 + 1e-9))}


@pytest.mark.parametrize(("length", "whole"), [(72, True), (73, False)])
def test_a_name_in_a_list_has_seventy_two_characters_at_most(length, whole):
    name = "n" * length
    assert len(tables.named(name)) == 72
    assert (tables.named(name) == name) == whole


def test_facts_are_names_and_values():
    assert lines_of(tables.facts({"samples": 1234, "right": None})) == [
        "",
        "  samples   1,234",
        "  right         -",
        "",
    ]
    assert styled(tables.facts({"right": 7}))[1] == "  cyan(right)   7  "


def test_passes_are_listed_with_why_they_did_something():
    log = RewriteLog([("fold", "a")])
    log.note("cut", "b", "2 of 8 channels go")
    assert lines_of(tables.passes(log))[2:6] == [
        "  pass   op   reason",
        " ────────────────────────────────",
        "  fold   a",
        "  cut    b    2 of 8 channels go",
    ]
    assert tables.explained(log)["applied"] == [
        {"pass": "fold", "op": "a"},
        {"pass": "cut", "op": "b", "reason": "2 of 8 channels go"},
    ]


def test_passes_are_listed_with_what_they_did_and_refused():
    log = RewriteLog([("fold", "a"), ("fuse", "b")], {("fuse", "c"): "why", ("fold", "a"): "no"})
    log.refused["cut", "d"] = "too wide"
    assert lines_of(tables.passes(log)) == [
        "applied",
        "",
        "  pass   op",
        " ───────────",
        "  fold   a",
        "  fuse   b",
        "",
        "refused",
        "",
        "  pass   op   reason",
        " ──────────────────────",
        "  fuse   c    why",
        "  cut    d    too wide",
        "",
    ]


def test_a_profile_has_times_and_speeds():
    times = [
        OpTime(0, "conv2d", "n", 1234.56, 0.75, 2_469_120),
        OpTime(10, "add", "m", 10, 0.25, 0),
    ]
    assert lines_of(tables.profile(times)) == [
        "",
        "   #   op            µs     share   GMAC/s",
        " ──────────────────────────────────────────",
        "   0   conv2d   1,234.6   75.00 %      2.0",
        "  10   add         10.0   25.00 %        -",
        "",
    ]


def op_row(op, family, reference, numba, c, gradient):
    backends = {"reference": reference, "numba": numba, "C": c}
    return {"op": op, "quantisation": family, **backends, "gradient": gradient}


def test_ops_stand_by_family_and_backends_by_dtypes():
    rows = [
        op_row("add", "own range", "f32 s8", "f32 (NumPy) s8", "f32 s8", "f32"),
        op_row("pad", "same as input", "f32", "f32", "f32", "-"),
        op_row("mul", "own range", "s8", "s8", "s8", "f32"),
    ]
    assert lines_of(tables.op_table(rows)) == [
        "quantised: own range",
        "",
        " op    dtypes           on                    trained",
        " ────────────────────────────────────────────────────",
        " add   f32 s8           reference, C          yes",
        "       f32 (NumPy) s8   numba",
        " mul   s8               reference, numba, C   yes",
        "",
        "quantised: same as input",
        "",
        " op    dtypes   on                    trained",
        " ────────────────────────────────────────────",
        " pad   f32      reference, numba, C   -",
        "",
    ]


def test_every_op_is_shown_within_eighty_columns():
    rows = support_rows()
    lines = lines_of(tables.op_table(rows))
    assert max(map(len, lines)) <= 80
    shown = {line.split()[0] for line in lines if line.startswith(" ") and line[1:2].isalpha()}
    assert shown - {"op"} == {row["op"] for row in rows}
    families = {row["quantisation"] for row in rows}
    assert sum(line.startswith("quantised: ") for line in lines) == len(families)


BOUNDS = {
    (120, 100, False): ("of these, no plan can do without", 100, "20.00 %"),
    (120, 100, True): ("of these, this order of rows cannot do without", 100, "20.00 %"),
    (0, 0, False): ("of these, no plan can do without", 0, "0.00 %"),
}


@pytest.mark.parametrize(("figures", "shown"), list(BOUNDS.items()))
def test_the_gap_is_a_part_of_the_bound(figures, shown):
    text, bound, gap = shown
    assert tables.arena_bound(*figures) == {text: bound, "gap to that bound": gap}


# The map of the arena: 16 lines


def plan_of(*buffers, nbytes=160):
    """Buffers as name, offset, size, first and last step."""
    return ArenaPlan(
        {name: offset for name, offset, *_ in buffers},
        nbytes,
        nbytes,
        tuple(Buffer((name,), size, first, last) for name, _, size, first, last in buffers),
    )


def test_a_map_has_ops_from_left_to_right_and_bytes_upwards():
    """Of the line from 60 to 70, most bytes are the second buffer's, which begins at 64."""
    plan = plan_of(("a", 0, 64, -1, 0), ("b", 64, 96, 0, 1), ("c", 0, 32, 1, 2))
    assert styled(arena_map(plan, 2)) == [
        *(f"dim(  {high:>3} )green(████)green(████)" for high in range(160, 60, -10)),
        *(f"dim(  {high:>3} )cyan(████)dim(····)" for high in (60, 50)),
        *(f"dim(  {high:>3} )cyan(████)magenta(████)" for high in (40, 30, 20, 10)),
        "dim(   op 0      1)",
    ]


def test_a_buffer_is_drawn_where_the_first_of_its_tensors_begins():
    buffers = (Buffer(("a", "view"), 80, 0, 0), Buffer(("b",), 80, 0, 0))
    plan = ArenaPlan({"a": 0, "view": 40, "b": 80}, 160, 160, buffers)
    colours = [line.split(")")[1].split("(")[0] for line in styled(arena_map(plan, 1))[:16]]
    assert colours == ["green"] * 8 + ["cyan"] * 8


def test_of_buffers_that_take_as_much_of_a_line_the_newest_is_drawn():
    plan = plan_of(("a", 0, 5, 0, 0), ("b", 5, 5, 0, 0))
    assert styled(arena_map(plan, 1))[15] == "dim(   10 )green(████)"


def test_an_input_that_nothing_reads_is_there_at_the_start():
    plan = plan_of(("a", 0, 160, -1, -1))
    assert {line[6:] for line in lines_of(arena_map(plan, 2))[:16]} == {"████····"}


SHARED = [(1, 4, 1), (24, 4, 24), (25, 3, 25), (48, 2, 48), (49, 1, 49), (96, 1, 96)]
SHARED += [(97, 1, 49), (98, 1, 49)]


@pytest.mark.parametrize(("steps", "width", "columns"), SHARED)
def test_ops_share_columns_where_a_screen_has_too_few(steps, width, columns):
    """Either op of a column is drawn in it."""
    last = plan_of(("a", 0, 160, steps - 1, steps))
    lines = lines_of(arena_map(last, steps), width=120)
    empty = width * (columns - 1)
    assert {line[6:] for line in lines[:16]} == {"·" * empty + "█" * width}
    assert lines[16][6:].startswith("0")
    assert lines[16].endswith(str(steps - 1))
    assert len(lines[16]) == 6 + width * columns


def test_colours_begin_anew_after_the_last():
    names = "abcdefgh"
    plan = plan_of(*((name, 20 * i, 20, 0, 0) for i, name in enumerate(names)))
    colours = [line.split(")")[1].split("(")[0] for line in styled(arena_map(plan, 1))[:16]]
    order = ["cyan", "green", "magenta", "yellow", "blue", "red", "white", "cyan"]
    assert colours[::-1] == [colour for colour in order for _ in range(2)]


# inspect


def inspected(tmp_path, graph, whole=False, **options):
    save_tflite(graph, tmp_path / "net.tflite")
    return lines_of(tables.inspection(inspect_model(tmp_path / "net.tflite", **options), whole))


def two_ops():
    """Means of rows, then of all; 256 bytes in, of which four are left."""
    b = Builder((1, 4, 16))
    return b.graph(b.op("mean", (b.op("mean", ("x",), MeanAttrs((2,))),), MeanAttrs((1,))))


def test_an_inspection_has_ports_ops_totals_map_peak_and_advice(tmp_path):
    lines = inspected(tmp_path, two_ops())
    parts = [line for line in lines if "█" not in line or "mean" in line]
    assert parts == [
        "",
        "  input  x        f32[1,4,16]",
        "  output mean_1        f32[1]",
        "",
        "",
        "  #   op     output     MACs   arena   arena use",
        " ───────────────────────────────────────────────────────",
        "  0   mean   f32[1,4]      0     272   ████████████████",
        "  1   mean   f32[1]        0      20   █",
        "",
        "",
        "  MACs                                    0",
        "  weight bytes                            0",
        "  arena bytes                           272",
        "  of these, no plan can do without      272",
        "  gap to that bound                  0.00 %",
        "",
        *[line for line in parts[17:] if "·" in line],
        "   op 0      1",
        "  The arena is fullest at op #0 mean, which keeps:",
        "",
        "  x        256",
        "  mean_0    16",
        "",
        "  What would make it smaller, and about how many bytes it then has:",
        "",
        "  keep inputs in memory of your own: --input-outside   20",
        "",
    ]


def test_shapes_stay_whole_on_a_narrow_screen(tmp_path):
    save_tflite(two_ops(), tmp_path / "net.tflite")
    lines = lines_of(tables.inspection(inspect_model(tmp_path / "net.tflite")), width=34)
    assert any("f32[1,4] " in line for line in lines)


def test_a_model_without_ops_is_inspected(tmp_path):
    """It is fullest before the first op."""
    lines = inspected(tmp_path, Builder((1, 4)).graph("x"))
    assert "  The arena is fullest at the start, which keeps:" in lines
    assert "  x   16" in lines
    assert "  op 0  0" in lines


def chain(count):
    """So many ops, one after the other."""
    b = Builder((1, 4))
    x = "x"
    for _ in range(count):
        x = b.op("tanh", (x,))
    return b.graph(x)


@pytest.mark.parametrize(("count", "shown"), [(40, 40), (41, 25)])
def test_a_table_of_ops_is_whole_up_to_forty(tmp_path, count, shown):
    """Of more, five are shown at each end, and of these that cost alike the first twenty."""
    lines = inspected(tmp_path, chain(count))
    assert sum("█" in line and "tanh" in line for line in lines) == shown
    rest = [line.strip() for line in lines if line.endswith(" more)")]
    assert rest == ([f"({count - shown} more)"] if shown < count else [])
    hint = "  Ops at both ends and the most costly ones; --all shows all of them."
    assert (hint in lines) == (shown < count)


def test_of_many_ops_those_that_cost_the_most_are_told():
    """Five at each end, the twenty with the most products, the ten with the most memory."""
    macs, arena = range(100, 300, 10), range(305, 405, 10)
    ops = [SimpleNamespace(macs=i in macs, arena_bytes=i in arena) for i in range(500)]
    told = tables._telling(SimpleNamespace(ops=ops))
    assert told == [*range(5), *macs, *arena, *range(495, 500)]


@pytest.mark.parametrize(("count", "rest"), [(1, None), (8, None), (9, 1)])
def test_what_runs_row_by_row_is_listed_with_the_rows_it_holds(count, rest):
    value = SimpleNamespace(shape=(1, 32, 8, 4))
    rings = [SimpleNamespace(value=f"r{i}", rows=3) for i in range(count)]
    segments = [SimpleNamespace(first=10 * i, stop=10 * i + 4, images=rings) for i in range(count)]
    report = SimpleNamespace(
        plan=SimpleNamespace(segments=segments), graph=SimpleNamespace(value=lambda name: value)
    )
    lines = [line for block in tables._segments(report, 8) for line in lines_of(block)]
    assert lines[:2] == ["  Ops 0 to 3 run row by row and hold:", ""]
    assert lines[2].split() == ["r0", "3", "of", "32", "rows"]
    assert sum("run row by row" in line for line in lines) == min(count, 8)
    assert (lines[-1] == f"  and {rest} more segments") == (rest is not None)
    assert sum(line.strip() == "and 1 more" for line in lines) == (8 if rest else 0)


@pytest.mark.parametrize(("count", "rest"), [(0, None), (8, None), (9, 1), (20, 12)])
def test_a_few_of_many_places_are_shown(count, rest):
    segments = [SimpleNamespace(describe=lambda i=i: f"part {i}") for i in range(count)]
    report = SimpleNamespace(placement=segments)
    shown = [f"    part {i}" for i in range(min(count, 8))]
    shown += [f"    and {rest} more"] if rest else []
    title = ["  Where ops run with --backend cuda --allow-fallback:"] if count else []
    assert [line.plain for line in tables._placement(report, 8)] == title + shown
    assert len(tables._placement(report, None)) == len(title) + count


@pytest.mark.parametrize(("count", "rest"), [(8, []), (9, ["and 1 more"])])
def test_a_few_of_many_ports_and_tensors_are_shown(count, rest):
    ports = [Value(f"v{i}", DType.FLOAT32, (1, 2)) for i in range(count)]
    moment = SimpleNamespace(node=0, sizes=[(f"v{i}", 8) for i in range(count)])
    report = SimpleNamespace(
        graph=SimpleNamespace(input_values=ports, output_values=[]),
        plan=SimpleNamespace(fullest=lambda: moment),
        ops=[],
        advice=(),
    )
    for shown in (tables._ports(report, 8), tables._peak(report, 8)):
        lines = [" ".join(line.split()) for line in lines_of(shown)]
        assert sum(line.removeprefix("input ").startswith("v") for line in lines) == 8
        assert [line for line in lines if line.startswith("and ")] == rest
