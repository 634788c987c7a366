"""Stages that share a case, and the tables of what differs in them."""

import pytest

from tinyrt.export.code import (
    FIRST,
    NO_SCRATCH,
    ROWS,
    At,
    CallLine,
    Comment,
    Int,
    Name,
    Nested,
    NodeNumber,
    Struct,
    line,
    rendered,
)
from tinyrt.export.rows.sharing import Body, Group, alike, tables

MANY = 6
CTYPE = "tinyrt_conv2d_s8_params"
SOME_SCRATCH = At("arena", (4,))


def statements(node, x=0, step=8, scratch=SOME_SCRATCH, params=None):
    """A call of op ``node`` on a batch that may begin behind its first row."""
    first = At("arena", (x,)), " + ", Int(step), " * ", FIRST
    own = params or Struct(f"n{node}_params", CTYPE)
    args = (own,), first, (Name(f"net_n{node}_w"),), (scratch,), ("15U",)
    return [
        Comment(f"#{node} conv2d 'stem'", f"n{node + 1}_params, arena + {node}"),
        line("TINYRT_PROFILE_BEGIN(", NodeNumber(node), ");"),
        CallLine("tinyrt_conv2d_s8", args),
        line("TINYRT_PROFILE_END(", NodeNumber(node), ");"),
    ]


def call(node, **options):
    return Body.of(statements(node, **options))


def code_of(group: Group) -> list[str]:
    """The lines of a group's case."""
    return [text.strip() for text in group.code("nodes[stage]").split("\n")]


def test_what_differs_comes_from_the_table_and_the_rest_stays():
    (group,) = alike({i: call(i, x=16 * i) for i in range(MANY)})
    assert code_of(group) == [
        "TINYRT_PROFILE_BEGIN(nodes[stage]);",
        "tinyrt_conv2d_s8(call->params, arena + call->at[0] + 8 * first, call->data[0], "
        "arena + 4, 15U);",
        "TINYRT_PROFILE_END(nodes[stage]);",
    ]
    table, nodes = tables("rows0", [group], {0: 2, 1: 1, 2: 3, 3: 4, 4: 5, 5: 6})
    assert "{&n1_params, {net_n1_w}, {16}}, {&n0_params, {net_n0_w}, {0}}" in table
    assert "    const void *data[1];\n    uint16_t at[1];\n}" in table
    assert nodes.endswith("= {\n    1, 0, 2, 3, 4, 5,\n};")


def test_columns_with_the_same_entries_are_one():
    (group,) = alike({i: call(i, x=4 * i, scratch=At("arena", (4 * i,))) for i in range(MANY)})
    assert code_of(group)[1].count("call->at[0]") == 2
    assert set(group.columns.values()) == {0}


def test_a_place_with_several_offsets_is_one_entry():
    (group,) = alike({i: call(i, scratch=At("arena", (8, 4 * i))) for i in range(MANY)})
    assert "arena + call->at[0], 15U" in code_of(group)[1]
    assert "{28}" in tables("rows0", [group], {i: i for i in range(MANY)})[0]


def test_places_in_other_memory_are_numbers():
    (group,) = alike({i: call(i, scratch=At("state", (8, 4 * i))) for i in range(MANY)})
    assert "state + 8 + call->n[0], 15U" in code_of(group)[1]
    assert not alike({i: call(i, scratch=At(f"state{i}", (4,))) for i in range(MANY)})


def test_scratch_memory_that_nobody_needs_may_be_any():
    places = [NO_SCRATCH, *(At("arena", (4 * i,)) for i in range(1, MANY))]
    (group,) = alike({i: call(i, scratch=place) for i, place in enumerate(places)})
    assert "arena + call->at[0], 15U" in code_of(group)[1]
    assert "{0}" in tables("rows0", [group], {i: i for i in range(MANY)})[0]
    (group,) = alike({i: call(i, scratch=NO_SCRATCH) for i in range(MANY)})
    assert "call->data[0], NULL, 15U" in code_of(group)[1]


def test_a_null_that_means_something_is_no_place():
    bodies = {i: call(i, scratch="NULL" if i % 2 else SOME_SCRATCH) for i in range(2 * MANY)}
    assert [len(group.stages) for group in alike(bodies)] == [MANY, MANY]


def test_other_regions_large_numbers_and_few_stages_share_nothing():
    assert not alike({i: call(i, scratch=At(f"arena_{i}", (4,))) for i in range(MANY)})
    assert not alike({i: call(i, step=20_000 * i) for i in range(MANY)})
    assert alike({i: call(i, x=40_000 * i) for i in range(MANY)})
    assert not alike({i: call(i) for i in range(2)})


@pytest.mark.parametrize(("last", "groups"), [(0xFFFF, 1), (0x10000, 0)])
def test_a_number_beyond_16_bits_stays_in_the_code(last, groups):
    assert len(alike({i: call(i, step=i if i else last) for i in range(MANY)})) == groups


@pytest.mark.parametrize(("last", "ctype"), [(0xFFFF, "uint16_t"), (0x10000, "uint32_t")])
def test_places_beyond_16_bits_take_32(last, ctype):
    groups = alike({i: call(i, x=i if i else last) for i in range(MANY)})
    assert f"{ctype} at[1]" in tables("rows0", groups, {i: i for i in range(MANY)})[0]


@pytest.mark.parametrize(("value", "sign"), [(-3, "-"), (3, "")])
def test_signs_are_code_and_what_is_behind_them_is_a_number(value, sign):
    bodies = {i: call(i) for i in range(MANY)}
    for i in bodies:
        more = CallLine("tinyrt_turn", ((Int(value * (i + 1)),), (NodeNumber(i),)))
        bodies[i] = Body.of([*statements(i), more])
    (group,) = alike(bodies)
    assert code_of(group)[-1] == f"tinyrt_turn({sign}call->n[0], nodes[stage]);"


@pytest.mark.parametrize(
    ("rows", "text"), [((1, 0), "rows"), ((11, 2), "11 * rows + 2"), ((1, -1), "rows - 1")]
)
def test_statements_are_read_without_factors_of_one(rows, text):
    each, rest = rows
    sign = " - " if rest < 0 else " + "
    (code,) = rendered([line("p.h = ", Int(each), " * ", ROWS, sign, Int(abs(rest)), ";")])
    assert code.strip() == f"p.h = {text};"


def test_a_number_of_rows_with_parameters_of_its_own_keeps_its_case():
    of_one = Struct("n3_of_1_params", CTYPE, own=False)
    branches = [
        line("if (", ROWS, " == ", Int(1), ") {"),
        Nested(tuple(statements(3, params=of_one))),
        line("} else {"),
        Nested(tuple(statements(3))),
        line("}"),
    ]
    assert Body.of(branches) is None
    assert Body.of(statements(3, params=of_one)) is None
    assert Body.of(statements(3)) is not None


def test_parameters_that_are_copied_are_copied_from_the_table():
    def body(node):
        own = Struct(f"n{node}_params", CTYPE)
        copied = Struct(f"n{node}_params", CTYPE, copied=True)
        plain = Struct(f"n{node}_params", CTYPE, pointer=False, copied=True)
        source = Struct(own.name, CTYPE, pointer=False)
        copy = line(f"{CTYPE} ", plain, " = ", source, ";")
        rows = line(plain, ".h", " = ", Int(node), " * ", ROWS, ";")
        return Body.of([copy, rows, *statements(node, params=copied)])

    (group,) = alike({i: body(i) for i in range(MANY)})
    copy, rows, _, made, _ = code_of(group)
    assert copy == f"{CTYPE} some_params = *(const {CTYPE} *)call->params;"
    assert rows == "some_params.h = call->n[0] * rows;"
    assert made.startswith("tinyrt_conv2d_s8(&some_params, ")
