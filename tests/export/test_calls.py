"""Stages that share a case, and the tables of what differs in them."""

from tinyrt.export.c_batches import simplified
from tinyrt.export.c_calls import NO_SCRATCH, Body, alike, tables

CALL = """    /* {node}: conv2d 'stem' */
    TINYRT_PROFILE_BEGIN({node});
    tinyrt_conv2d_s8(&n{node}_params, arena + {x} + {step} * first, net_n{node}_w, {scratch}, 15U);
    TINYRT_PROFILE_END({node});"""


MANY = 6


def call(node, x=0, step=8, scratch="arena + 4"):
    return Body.of(CALL.format(node=node, x=x, step=step, scratch=scratch))


def test_what_differs_comes_from_the_table_and_the_rest_stays():
    (group,) = alike({i: call(i, x=16 * i) for i in range(MANY)})
    assert group.template.split("\n")[1].strip() == (
        "tinyrt_conv2d_s8(call->params, arena + call->at[0] + 8 * first, call->data[0], "
        "arena + 4, 15U);"
    )
    table, nodes = tables("rows0", [group], {0: 2, 1: 1, 2: 3, 3: 4, 4: 5, 5: 6})
    assert "{&n1_params, {net_n1_w}, {16}}, {&n0_params, {net_n0_w}, {0}}" in table
    assert "    const void *data[1];\n    uint16_t at[1];\n}" in table
    assert nodes.endswith("= {\n    1, 0, 2, 3, 4, 5,\n};")


def test_columns_with_the_same_entries_are_one():
    (group,) = alike({i: call(i, x=4 * i, scratch=f"arena + {4 * i}") for i in range(MANY)})
    assert group.template.count("call->at[0]") == 2
    assert set(group.columns.values()) == {0}


def test_scratch_memory_that_nobody_needs_may_be_any():
    scratch = [NO_SCRATCH, *(f"arena + {4 * i}" for i in range(1, MANY))]
    (group,) = alike({i: call(i, scratch=text) for i, text in enumerate(scratch)})
    assert "arena + call->at[0], 15U" in group.template
    assert "{0}" in tables("rows0", [group], {i: i for i in range(MANY)})[0]
    (group,) = alike({i: call(i, scratch=NO_SCRATCH) for i in range(MANY)})
    assert f"{NO_SCRATCH}, 15U" in group.template


def test_a_null_that_means_something_is_no_place():
    bodies = {i: call(i, scratch="NULL" if i % 2 else "arena + 4") for i in range(2 * MANY)}
    assert [len(group.stages) for group in alike(bodies)] == [MANY, MANY]


def test_other_regions_large_numbers_and_few_stages_share_nothing():
    assert not alike({i: call(i, scratch=f"arena_{i} + 4") for i in range(MANY)})
    assert not alike({i: call(i, step=20_000 * i) for i in range(MANY)})
    assert alike({i: call(i, x=40_000 * i) for i in range(MANY)})
    assert not alike({i: call(i) for i in range(2)})


def test_places_beyond_16_bits_take_32():
    groups = alike({i: call(i, x=40_000 * i) for i in range(MANY)})
    assert "uint32_t at[1]" in tables("rows0", groups, {i: i for i in range(MANY)})[0]


def test_statements_are_read_without_factors_of_one():
    assert simplified("p.h = 1 * rows + 0;") == "p.h = rows;"
    assert simplified("p.h = 11 * rows + 2;") == "p.h = 11 * rows + 2;"
    assert simplified("p.h = 1 * rows - 1;") == "p.h = rows - 1;"


def test_a_number_of_rows_with_parameters_of_its_own_keeps_its_case():
    other = CALL.replace("n{node}_params", "n{node}_of_1_params")
    text = f"if (rows == 1) {{{{\n{other}\n}}}} else {{{{\n{CALL}\n}}}}"
    assert Body.of(text.format(node=3, x=0, step=8, scratch="NULL")) is None
