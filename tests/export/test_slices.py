"""Slices of an inference: how a model is cut, and what a program does between them."""

import subprocess
from dataclasses import replace
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest

from tests.asked import asked
from tests.c.host import SANITIZE, host_compiler
from tests.export.models import dense, echo, softmax, views
from tests.graphs import Builder
from tests.kept_objects import compile_sources
from tests.memory.nets import random_net
from tinyrt.backends.c.kernel import Call, Kernel
from tinyrt.backends.c.parts import cost
from tinyrt.backends.c.parts.cutting import MARGIN
from tinyrt.backends.c.parts.pace import pace_of
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, export_graph, export_several, find_core, slices
from tinyrt.export.slices import NOTHING, Slice, _fit, _overlaps, _too_long
from tinyrt.memory import ArenaPlan
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.evaluate import evaluate

NET = 42
"""A random network of convolutions, sums, a pool and a table, with one output."""

MAIN = """#include <stdio.h>
#include <string.h>
#include "one.h"
#include "two.h"
#include "tinyrt/tinyrt_types.h"

#define MOST 4000

static _Alignas(16) int8_t first[ONE_ARENA_BYTES], second[TWO_ARENA_BYTES];
static int8_t image[ONE_INPUT_0_BYTES], other[TWO_INPUT_0_BYTES];
static int8_t answers[3][ONE_OUTPUT_0_BYTES], others[TWO_OUTPUT_0_BYTES];

static int all(one_slices_t *slices, uint32_t budget) {
    int steps = 1;
    for (; one_step(slices, budget) == TINYRT_MORE && steps < MOST; ++steps) {
    }
    return steps;
}

int main(void) {
    fread(image, 1, sizeof image, stdin);
    fread(other, 1, sizeof other, stdin);
    one_slices_t one;
    two_slices_t two;
    one_io_t io = {image, answers[0]};

    /* Both in turn, slice by slice. What io holds is forgotten at once. */
    one_begin(&one, &io, first);
    io.output_0 = NULL;
    two_begin(&two, &(two_io_t){other, others}, second);
    int left = TINYRT_MORE, right = TINYRT_MORE, slices = 0, misses = 0;
    while (left == TINYRT_MORE || right == TINYRT_MORE) {
        left = left == TINYRT_MORE ? one_step(&one, 0) : left;
        right = right == TINYRT_MORE ? two_step(&two, 0) : right;
        ++slices;
    }

    /* Cancelled behind each of its slices, and begun again in an arena that held other things. */
    io.output_0 = answers[1];
    for (int wanted = 1; wanted < ONE_SLICES; ++wanted) {
        one_begin(&one, &io, first);
        for (int done = 0; done < wanted; ++done) {
            one_step(&one, 0);
        }
        one_cancel(&one);
        if (wanted % 2 == 0) {
            memset(first, 0x5A, sizeof first);
            one_begin(&one, &io, first);
            all(&one, UINT32_MAX);
            misses += memcmp(answers[0], answers[1], sizeof *answers) != 0;
        }
        memset(answers[1], 0, sizeof *answers);
    }
    one_begin(&one, &io, first);
    const int in_pairs = all(&one, 2 * ONE_LONGEST_SLICE);

    io.output_0 = answers[2];
    one_begin(&one, &io, first);
    const int at_once = all(&one, UINT32_MAX);
    fwrite(answers, 1, sizeof answers, stdout);
    fwrite(others, 1, sizeof others, stdout);
    fprintf(stderr, "%d %d %d %d %d %d", left, right, slices, in_pairs, at_once, misses);
    return 0;
}
"""


def test_kernels_of_this_machine_are_estimated_as_general_ones(tmp_path):
    project = export_graph(
        dense(), tmp_path / "out", core="host-avx2", options=ExportOptions(slices=4000)
    )
    assert project.slices.count == 1
    assert project.slices.longest.instructions > 50


def test_inferences_take_turns_are_cancelled_and_begun_again(tmp_path):
    graphs = {name: replace(random_net(NET), name=name) for name in ("one", "two")}
    for name, graph in graphs.items():
        save_tflite(graph, tmp_path / f"{name}.tflite")
    paths = [tmp_path / f"{name}.tflite" for name in graphs]
    models = export_several(
        paths, tmp_path / "out", core="host", options=ExportOptions(slices=4000)
    ).models
    counts = [model.slices.count for model in models]
    assert counts[0] > 10
    main = tmp_path / "main.c"
    main.write_text(MAIN)
    folder = tmp_path / "out"
    sources = [main, *folder.glob("*.c"), *folder.glob("tinyrt/*.c")]
    command = [host_compiler(), "-std=c11", "-Wall", "-Wextra", "-Werror", *SANITIZE.split()]
    command += ["-Wno-unused-result", f"-I{folder}", *sources, "-lm", "-o", tmp_path / "main"]
    compile_sources(command)
    rng = np.random.default_rng(5)
    feeds = [
        {v.name: rng.integers(-128, 128, v.shape).astype(np.int8) for v in g.input_values}
        for g in graphs.values()
    ]
    data = b"".join(array.tobytes() for feed in feeds for array in feed.values())
    done = subprocess.run([tmp_path / "main"], input=data, capture_output=True, check=True)
    expected = [evaluate(g, f) for g, f in zip(graphs.values(), feeds, strict=True)]
    first, second = (np.concatenate([y.ravel() for y in out.values()]) for out in expected)
    answers = np.frombuffer(done.stdout, np.int8)
    np.testing.assert_array_equal(answers, np.concatenate([first, first, first, second]))
    left, right, slices, in_pairs, at_once, misses = map(int, done.stderr.split())
    assert (left, right, slices, at_once, misses) == (0, 0, max(counts), 1, 0)
    assert counts[0] / 4 < in_pairs <= counts[0] / 1.5


def sliced(folder, graph=None, **options):
    return export_graph(graph or random_net(NET), folder, **asked(**{"slices": 4000} | options))


def test_slices_are_no_longer_than_asked_for(tmp_path):
    projects = [sliced(tmp_path / str(n), slices=n) for n in (3000, 10_000, 1_000_000)]
    for project in projects:
        plan = project.slices
        assert plan.longest.instructions == max(s.instructions for s in plan.stages) <= plan.limit
        assert plan.count == len(plan.in_order()) >= len(plan.stages)
        assert plan.as_dict() == {
            "limit": plan.limit,
            "count": plan.count,
            "longest": {
                "instructions": plan.longest.instructions,
                "ops": list(plan.longest.nodes),
                "names": [plan.names[i] for i in plan.longest.nodes],
            },
        }
    counts = [project.slices.count for project in projects]
    assert counts[0] > counts[1] > counts[2] == 1
    assert len({n for s in projects[2].slices.stages for n in s.nodes}) > 5


def test_neighbours_share_a_slice_up_to_the_limits_margin(tmp_path):
    stages = sliced(tmp_path / "out", slices=20_000).slices.stages
    joined = [s for s in stages if len(s.nodes) > 1]
    assert joined
    assert all(s.instructions <= MARGIN * 20_000 for s in joined)


def test_the_plan_is_in_the_header_and_the_table(tmp_path):
    project = sliced(tmp_path / "out", name="mo")
    header = (tmp_path / "out" / "mo.h").read_text()
    plan = project.slices
    assert f"#define MO_SLICES {plan.count}\n" in header
    assert f"#define MO_LONGEST_SLICE {plan.longest.instructions}\n" in header
    text = (tmp_path / "out" / "mo.c").read_text()
    rows = [
        f"{{{s.instructions}, {s.repeats.rounds}, {s.repeats.back}, {s.repeats.turns}, "
        f"{s.repeats.turn_back}}},"
        for s in plan.stages
    ]
    assert f"all_slices[{len(rows)}] = {{\n    " + "\n    ".join(rows) + "\n};" in text


def test_without_slices_nothing_of_them_is_there(tmp_path):
    project = export_graph(random_net(NET), tmp_path / "out", options=ExportOptions(name="mo"))
    assert project.slices is None
    assert "tinyrt_slices.h" not in " ".join(project.files)
    text = (tmp_path / "out" / "mo.h").read_text() + (tmp_path / "out" / "mo.c").read_text()
    assert "slice" not in text


def test_a_model_of_views_alone_has_a_slice(tmp_path):
    assert sliced(tmp_path / "out", views()).slices.count == 1


def test_the_header_says_what_becomes_of_a_cancelled_models_state(tmp_path):
    for graph, said in ((echo(), True), (dense(), False)):
        export_graph(graph, tmp_path / graph.name, options=ExportOptions(name="mo", slices=1000))
        assert ("reset it" in (tmp_path / graph.name / "mo.h").read_text()) == said


def test_what_runs_row_by_row_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="row by row cannot be cut into slices") as caught:
        sliced(tmp_path / "out", random_net(41), by_rows=True)
    assert "leave out --slices" in str(caught.value.hint)
    assert caught.value.op
    with pytest.raises(UnsupportedError, match="row by row cannot be cut into slices"):
        sliced(tmp_path / "out", input_rows=True)
    assert not (tmp_path / "out").exists()


def test_slices_that_are_too_short_are_refused(tmp_path):
    sliced(tmp_path / "least", dense(), slices=1000)
    with pytest.raises(UnsupportedError, match="slices of 999 instructions are too short") as e:
        sliced(tmp_path / "out", slices=999)
    assert e.value.expected == "at least 1,000"


def test_an_op_that_cannot_be_cut_is_named(tmp_path):
    graph = softmax(200)
    with pytest.raises(UnsupportedError, match="tinyrt_softmax_s8 cannot be cut further") as e:
        sliced(tmp_path / "out", graph, slices=20_000)
    assert e.value.op == "softmax 'classes'"
    assert e.value.expected == "at most 20,000"
    needed = int(str(e.value.hint).split()[4].replace(",", ""))
    assert sliced(tmp_path / "out", graph, slices=needed).slices.longest.instructions == needed


def test_neighbours_that_just_fit_share_a_slice():
    one, other = (Slice((i,), n, NOTHING, True, ()) for i, n in ((0, 400), (1, 440)))
    assert MARGIN * 1_000 == 400 + 440
    assert _fit(one, other, 1_000)
    assert not _fit(one, replace(other, instructions=441), 1_000)


def test_what_is_asked_for_is_a_whole_number_of_instructions():
    (node,) = dense().bound()
    error = _too_long(node, SimpleNamespace(name="f"), 1234.6, 1_000)
    assert "takes about 1,235 instructions" in error.problem
    assert "ask for slices of 1,235," in error.hint


COSTS = {"tinyrt_window_four_s8": 7.0, "tinyrt_window_four_part_s8": None, "tinyrt_add_s8": None}


@pytest.mark.parametrize("function", COSTS)
def test_parts_that_differ_are_estimated_each_for_itself(function, monkeypatch):
    """By the pace of the core, as the whole call is."""
    asked_for, told, part = [], [], Call(function, ())

    def estimate(*given, pace):
        asked_for.append((*given, pace))
        return 7.0

    def divide(call, whole, limit, cut, cost_of):
        told.append((call, whole, limit, cost_of(part)))
        return ()

    monkeypatch.setattr(slices, "instructions_of", estimate)
    monkeypatch.setattr(slices, "divided", divide)
    (node,), core, call = dense().bound(), find_core("rv32imc"), Call("f", ())
    kernel = Kernel(lambda: (call,))
    plan = ArenaPlan({"x": 0, "y": 8}, 16, 0, ())
    assert list(slices._parts(node, kernel, plan, core, 2_000)) == []
    assert told == [(call, 7.0, 2_000, COSTS[function])]
    pace = pace_of("rv32imc")
    rest = (node, kernel, core.isa, pace)
    parts = [(part, *rest)] if COSTS[function] else []
    assert asked_for == [(call, *rest), *parts]
    assert pace != signature(cost.instructions_of).parameters["pace"].default


@pytest.mark.parametrize(
    ("at", "region", "view", "overlaps"),
    [
        (0, 0, None, False),
        (63, 0, None, True),
        (64, 0, None, False),
        (37, 0, None, True),
        (36, 0, None, False),
        (64, 1, None, False),
        (50, 0, None, True),
        (50, 1, None, False),
        (None, 0, None, False),
        (50, 0, ("whole", 27), False),
        (0, 0, ("whole", 28), True),
        (0, 1, ("whole", 28), False),
    ],
)
def test_an_output_lies_on_an_input_in_the_same_region_alone(at, region, view, overlaps):
    """An input of 24 bytes from byte 40 on, an output of four; a view lies in its whole."""
    b = Builder((1, 6))
    y = b.op("reduce_max", ("x",), ReduceAttrs((1,), keep_dims=True))
    node = b.graph(y).bind(0)
    places = {"x": 40} if at is None else {"x": 40, y: at, "whole": 9}
    plan = ArenaPlan(
        places, 200, 0, (), region_of={y: region, "whole": region}, views={y: view} if view else {}
    )
    assert _overlaps(node, plan) is overlaps


@pytest.mark.parametrize(("at", "overlaps"), [(0, True), (24, True), (48, False)])
def test_an_output_may_lie_on_either_input(at, overlaps):
    b = Builder((1, 6), (1, 6))
    y = b.op("add", ("x", "x1"), AddAttrs())
    plan = ArenaPlan({"x": 0, "x1": 24, y: at}, 200, 0, ())
    assert _overlaps(b.graph(y).bind(0), plan) is overlaps
