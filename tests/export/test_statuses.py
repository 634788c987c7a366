"""What an exported model's functions return for pointers that are missing or misaligned."""

import subprocess

import pytest

from tests.c.host import SANITIZE, host_compiler
from tests.export.models import dense, echo, views
from tests.kept_objects import compile_sources
from tests.memory.nets import random_net
from tinyrt.export import ExportOptions, Memories, export_graph
from tinyrt.memory import Region

MAIN = """#include <stddef.h>
#include <stdio.h>
#include "mo.h"
#include "tinyrt/tinyrt_types.h"
static union {{ long long whole; unsigned char bytes[1 << 16]; }} memory;
int main(void) {{
    unsigned char *arena = memory.bytes;
    while ((size_t)arena % MO_ARENA_ALIGNMENT != 0) {{
        ++arena;
    }}
    unsigned char *const state = arena + (1 << 15);
    const mo_io_t io = {{0}};
    (void)io;
    (void)state;
    {setup}
    const int found[] = {{ {calls} }};
    const int wanted[] = {{ {statuses} }};
    for (size_t i = 0; i < sizeof found / sizeof *found; ++i) {{
        if (found[i] != wanted[i]) {{
            printf("call %d: %d, not %d", (int)i, found[i], wanted[i]);
            return 1;
        }}
    }}
    return 0;
}}
"""

SLICES = {"slices": 10_000}
BEGUN = "mo_slices_t run = {0};"
REGIONS = Memories((Region("fast", 16), Region("slow")))
CASES = {
    "arena": (
        dense,
        {},
        "",
        {
            "mo_invoke(&io, arena)": "OK",
            "mo_invoke(NULL, arena)": "NULL_IO",
            "mo_invoke(&io, NULL)": "NULL_ARENA",
            "mo_invoke(&io, arena + 1)": "MISALIGNED_ARENA",
        },
    ),
    "outside": (
        dense,
        {"memories": Memories(inputs_in_arena=False)},
        "",
        {"mo_invoke(&io, arena)": "NULL_TENSOR", "mo_invoke(NULL, arena)": "NULL_IO"},
    ),
    "regions": (
        views,
        {"memories": REGIONS},
        "const mo_arena_t both = {arena, arena + 64}, one = {arena, NULL};"
        "const mo_arena_t odd = {arena + 4, arena};",
        {
            "mo_invoke(&io, &both)": "OK",
            "mo_invoke(NULL, &both)": "NULL_IO",
            "mo_invoke(&io, NULL)": "NULL_ARENA",
            "mo_invoke(&io, &one)": "NULL_ARENA",
            "mo_invoke(&io, &odd)": "MISALIGNED_ARENA",
        },
    ),
    "state": (
        echo,
        {},
        "",
        {
            "mo_reset(NULL)": "NULL_STATE",
            "mo_reset(state + 1)": "MISALIGNED_STATE",
            "mo_reset(state)": "OK",
            "mo_invoke(&io, arena, state)": "OK",
            "mo_invoke(NULL, arena, state)": "NULL_IO",
            "mo_invoke(&io, arena, NULL)": "NULL_STATE",
            "mo_invoke(&io, arena, state + 1)": "MISALIGNED_STATE",
        },
    ),
    "rows": (
        lambda: random_net(28),
        {"input_rows": True},
        "int8_t row[MO_INPUT_0_ROW_BYTES] = {0}; int status = mo_begin(arena);"
        "for (int i = 1; i < MO_INPUT_0_ROWS; ++i) { status += mo_push_row(&io, arena, row); }",
        {
            "status": "OK",
            "mo_begin(NULL)": "NULL_ARENA",
            "mo_begin(arena + 2)": "MISALIGNED_ARENA",
            "mo_push_row(NULL, arena, row)": "NULL_IO",
            "mo_push_row(&io, arena, NULL)": "NULL_TENSOR",
            "mo_push_row(&io, NULL, row)": "NULL_ARENA",
            "mo_push_row(&io, arena, row)": "OK",
            "mo_push_row(&io, arena, row) ": "NO_ROW_WANTED",
        },
    ),
    "slices": (
        dense,
        SLICES,
        BEGUN + "mo_slices_t other = {0};",
        {
            "mo_step(&run, 0)": "NOT_BEGUN",
            "mo_cancel(&run)": "NOT_BEGUN",
            "mo_begin(NULL, &io, arena)": "NULL_SLICES",
            "mo_begin((mo_slices_t *)(void *)((char *)&run + 1), &io, arena)": "MISALIGNED_SLICES",
            "mo_begin(&run, NULL, arena)": "NULL_IO",
            "mo_begin(&run, &io, NULL)": "NULL_ARENA",
            "mo_begin(&run, &io, arena + 1)": "MISALIGNED_ARENA",
            "mo_step(&run, 1)": "NOT_BEGUN",
            "mo_begin(&run, &io, arena)": "OK",
            "mo_step(NULL, 0)": "NULL_SLICES",
            "mo_step((mo_slices_t *)(void *)((char *)&run + 2), 0)": "MISALIGNED_SLICES",
            "mo_step(&other, 0)": "NOT_BEGUN",
            "mo_step(&run, 0)  ": "OK",
            "mo_step(&run, 0) ": "NOT_BEGUN",
            "mo_cancel(&run) ": "NOT_BEGUN",
            "mo_begin(&run, &io, arena) ": "OK",
            "mo_begin(&run, &io, arena)  ": "OK",
            "mo_cancel(NULL)": "NULL_SLICES",
            "mo_cancel((mo_slices_t *)(void *)((char *)&run + 3))": "MISALIGNED_SLICES",
            "mo_cancel(&run)  ": "OK",
            "mo_step(&run, 2)": "NOT_BEGUN",
            "mo_cancel(&run)   ": "NOT_BEGUN",
            "mo_invoke(&io, arena)": "OK",
            "mo_invoke(NULL, arena)": "NULL_IO",
            "mo_invoke(&io, NULL)": "NULL_ARENA",
        },
    ),
    "slices outside": (
        dense,
        SLICES | {"memories": Memories(inputs_in_arena=False, outputs_in_arena=False)},
        BEGUN + "int8_t x[4] = {0}, y[2]; const mo_io_t in = {x, NULL}, out = {NULL, y};",
        {
            "mo_begin(&run, &in, arena)": "NULL_TENSOR",
            "mo_begin(&run, &out, arena)": "NULL_TENSOR",
            "mo_begin(&run, &(mo_io_t){x, y}, arena)": "OK",
            "mo_step(&run, 0)": "OK",
        },
    ),
    "slices in regions": (
        views,
        SLICES | {"memories": REGIONS},
        BEGUN + "const mo_arena_t both = {arena, arena + 64}, one = {arena, NULL};",
        {
            "mo_begin(&run, &io, NULL)": "NULL_ARENA",
            "mo_begin(&run, &io, &one)": "NULL_ARENA",
            "mo_begin(&run, &io, &both)": "OK",
            "mo_step(&run, 0)": "OK",
            "mo_invoke(&io, &both)": "OK",
        },
    ),
    "slices with a state": (
        echo,
        SLICES,
        BEGUN,
        {
            "mo_begin(&run, &io, arena, NULL)": "NULL_STATE",
            "mo_begin(&run, &io, arena, state + 1)": "MISALIGNED_STATE",
            "mo_begin(&run, &io, arena, state)": "OK",
            "mo_step(&run, 0)": "OK",
            "mo_invoke(&io, arena, state)": "OK",
            "mo_invoke(&io, arena, NULL)": "NULL_STATE",
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_missing_is_a_status(tmp_path, case):
    graph, options, setup, calls = CASES[case]
    folder = tmp_path / "out"
    export_graph(graph(), folder, core="host", options=ExportOptions(name="mo", **options))
    statuses = ", ".join(f"TINYRT_{status}" for status in calls.values())
    text = MAIN.format(setup=setup, calls=", ".join(calls), statuses=statuses)
    (tmp_path / "main.c").write_text(text)
    sources = [tmp_path / "main.c", *folder.glob("*.c"), *folder.glob("tinyrt/*.c")]
    command = [host_compiler(), "-std=c99", "-Wall", "-Wextra", "-Werror", *SANITIZE.split()]
    program = tmp_path / "program"
    compile_sources([*command, f"-I{folder}", *sources, "-lm", "-o", program])
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
