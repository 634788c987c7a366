"""Code for several numbers of rows: what grows by the row is merged, and nothing else."""

import numpy as np
import pytest

from tests.export.models import dense
from tests.memory.targets import DSP
from tinyrt.backends.c.kernel import Data, Params, call
from tinyrt.export.code import ROWS, At, Int, Struct, line, linear, rendered
from tinyrt.export.copies import copied, leaves
from tinyrt.export.rows.batches import (
    _copies,
    _Fit,
    _fit_of,
    _merged_statements,
    _Written,
    is_int,
    write_batch,
)
from tinyrt.export.states import lay_out
from tinyrt.export.writer import ModelWriter
from tinyrt.memory import plan_memory

TABLE = np.arange(4, dtype=np.int8)
FIELD = Data("table", TABLE, "int8_t")
ONE, TWO = {"t": TABLE}, {"t": TABLE, "u": TABLE}


def written(
    rows, numbers=(), fields=None, offsets=(0,), base="arena", name="f", tables=None, more=None
):
    """What an op writes for some rows: a line of numbers, a place, parameters and a table."""
    code = (
        line(f"{name}(", *(Int(n) for n in numbers), ");"),
        line(At(base, tuple(offsets)), ";"),
    )
    params = {"p": Params("p_t", fields or {}), "q": Params("q_t", more or {})}
    data = {k: Data("table", t, "int8_t") for k, t in (tables or ONE).items()}
    return _Written(rows, code, params, data)


def fit(make):
    """The line through four rows and two, from what ``make`` writes."""
    return _Fit(written(4, **make(4)), written(2, **make(2)))


LINEAR = {
    "nothing": lambda n: {},
    "a number": lambda n: {"numbers": (8 * n + 3, 7)},
    "a falling number": lambda n: {"numbers": (40 - 3 * n,)},
    "a place": lambda n: {"offsets": (16, 4 * n)},
    "a field": lambda n: {"fields": {"h": n, "act": 5, "flag": True}},
    "a field of a field": lambda n: {"fields": {"shape": {"n": 1, "h": 2 * n}}},
    "an entry": lambda n: {"fields": {"strides": (1, n, 3)}},
    "fields of two structs": lambda n: {"fields": {"h": n}, "more": {"w": 3 * n}},
}
BENT = {
    "one of two numbers": lambda n: {"numbers": (8 * n, n * n)},
    "the other number": lambda n: {"numbers": (n * n, 8 * n)},
    "half a number": lambda n: {"numbers": (n // 4,)},
    "how many numbers": lambda n: {"numbers": (1,) * n},
    "one of two offsets": lambda n: {"offsets": (4 * n, n * n)},
    "a place's base": lambda n: {"base": f"arena_{n}"},
    "a name": lambda n: {"name": f"f{n}"},
    "one of two fields": lambda n: {"fields": {"h": n, "w": n * n}},
    "a field of another struct": lambda n: {"fields": {"h": n}, "more": {"w": n * n}},
    "a flag": lambda n: {"fields": {"h": n, "flag": n == 3}},
    "a float": lambda n: {"fields": {"h": n, "scale": float(n)}},
    "an entry": lambda n: {"fields": {"strides": (n, n * n, 3)}},
    "a table for two rows alone": lambda n: {"fields": {"at": FIELD if n == 2 else 0}},
    "a table for all but two rows": lambda n: {"fields": {"at": 0 if n == 2 else FIELD}},
    "a float for three rows alone": lambda n: {"fields": {"h": 3.0 if n == 3 else n}},
    "which fields there are": lambda n: {"fields": {f"h{n}": 1}},
    "a table": lambda n: {"tables": {"t": TABLE + np.int8(n == 3)}},
    "every table": lambda n: {"tables": {"t": TABLE + np.int8(n)}},
    "a table too many": lambda n: {"tables": TWO if n == 3 else ONE},
    "a table too few": lambda n: {"tables": ONE if n == 3 else TWO},
}


@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR)
def test_what_grows_by_the_row_is_predicted(make):
    for rows in (1, 2, 3, 4, 7):
        assert fit(make).meets(written(rows, **make(rows)))


@pytest.mark.parametrize("make", BENT.values(), ids=BENT)
def test_what_grows_otherwise_is_not(make):
    assert not fit(make).meets(written(3, **make(3)))


@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR)
def test_a_single_number_of_rows_predicts_itself(make):
    alone = written(4, **make(4))
    assert _Fit(alone, alone).meets(alone)


@pytest.mark.parametrize("make", BENT.values(), ids=BENT)
def test_one_number_of_rows_is_met_where_no_line_goes_through_two(make):
    few, many = written(2, **make(2)), written(4, **make(4))
    found = _fit_of([few, many])
    assert found.meets(many)
    if found.meets(few):  # two points of something that is bent
        assert found.other is few
    else:
        assert found.changed("p") == []
        assert [s.tokens() for s in _merged_statements(found, many.code)] == [
            s.tokens() for s in many.code
        ]


def test_numbers_that_grow_by_parts_of_one_are_not_merged():
    part = written(2, (4,))
    assert not _Fit(written(4, (5,)), part).meets(part)


def test_merged_code_gives_the_numbers_of_every_count():
    def make(n):
        return {"numbers": (8 * n + 3,), "offsets": (16, 4 * n, 8, 2 * n)}

    found = fit(make)
    merged = [
        found.merged(a.tokens(), b.tokens())
        for a, b in zip(found.one.code, found.other.code, strict=True)
    ]
    texts = [text.strip() for text in rendered([line(*tokens) for tokens in merged])]
    assert texts == ["f(8 * rows + 3);", "arena + 16 + 4 * rows + 8 + 2 * rows;"]


def test_fields_that_change_are_told_with_their_paths():
    def make(n):
        return {"fields": {"h": n, "act": 5, "shape": {"h": 2 * n - 1}, "strides": (1, 3 * n)}}

    changed = dict(fit(make).changed("p"))
    assert changed == {"h": linear(1, 0), "shape.h": linear(2, -1), "strides[1]": linear(3, 0)}
    assert ROWS in changed["h"]


def test_each_struct_that_changes_is_copied():
    made = fit(lambda n: {"fields": {"h": n, "act": 5}, "more": {"w": 3 * n}})
    text = "\n".join(rendered(_copies(made)))
    first, second = (f"{t}_t some_{t} = {t};" for t in "pq")
    lines = [each.strip() for each in text.splitlines()]
    assert lines == [first, "some_p.h = rows;", second, "some_q.w = 3 * rows;"]


def test_pointers_of_a_struct_advance_with_rounds_and_with_turns_alone():
    graph = dense()
    writer = ModelWriter("net", graph, plan_memory(graph, DSP), DSP.target, lay_out(graph))
    writer.begin(next(iter(graph.bound())))
    struct = Params("p_t", {"a": Data("a", TABLE), "b": Data("b", TABLE, each=(0, 2))})
    writer.write_call(call("tinyrt_f", struct))
    lines = [part.strip() for text in rendered(writer.statements) for part in text.splitlines()]
    assert [each for each in lines if "+=" in each] == ["some_n0_params.b += 2 * turns_done;"]


def test_numbers_of_rows_that_no_line_meets_have_code_of_their_own():
    """Squares, of which one line meets two."""
    graph = dense()
    writer = ModelWriter("net", graph, plan_memory(graph, DSP), DSP.target, lay_out(graph))
    write_batch(
        writer, lambda to, n: to.statements.append(line("f(", Int(n * n), ");")), (1, 2, 4, 7)
    )
    lines = [part.strip() for text in rendered(writer.statements) for part in text.splitlines()]
    assert lines == [
        *("if (rows == 2) {", "f(4);", "} else if (rows == 4) {", "f(16);", "} else {"),
        *("f(8 * rows - 7);", "}"),
    ]


def test_leaves_are_numbers_and_the_roles_of_data():
    fields = {
        "a": 1,
        "b": {"c": 2, "d": {"e": 3}},
        "f": (4, 5),
        "g": np.array([6, 7]),
        "t": Data("table", TABLE, "int8_t"),
    }
    assert list(leaves(fields)) == [
        ("a", 1), ("b.c", 2), ("b.d.e", 3), ("f[0]", 4), ("f[1]", 5), ("g[0]", 6), ("g[1]", 7),
        ("t", "table"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "answer"),
    [(1, True), (np.int32(1), True), (True, False), (1.0, False), ("1", False), (None, False)],
)
def test_flags_and_floats_are_no_integers(value, answer):
    assert is_int(value) is answer


@pytest.mark.parametrize(
    ("fields", "by_call"),
    [
        ({f"f{i}": i for i in range(16)}, False),
        ({f"f{i}": i for i in range(17)}, True),
        ({"strides": (1, 2)}, True),
    ],
)
def test_small_parameters_are_copied_by_assignment(fields, by_call):
    text = "\n".join(
        rendered(copied(Struct("n0_params", "p_t", pointer=False), Params("p_t", fields)))
    )
    assert ("tinyrt_copy_words(" in text) is by_call
    assert ("= " in text) is not by_call
