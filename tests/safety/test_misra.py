"""Departures from MISRA C:2012: those that are listed with a reason, and no others."""

from collections import Counter

import pytest

from tests.c.host import require_tool
from tests.safety.figures import EXPORTS, load, misra_findings
from tests.safety.misra import (
    Deviation,
    by_rule,
    deviations,
    findings,
    release,
    unlisted,
    unneeded,
)

UNWANTED = """
#include <stdint.h>
int32_t tinyrt_test(int32_t x);
int32_t tinyrt_test(int32_t x) {
    if (x) {
        goto end;
    }
    x = 3;
end:
    return x;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("what", "core"), EXPORTS)
@pytest.mark.whole
def test_what_is_found_is_meant_so(zoo, tmp_path, what, core):
    require_tool("cppcheck")
    figures = load()
    if release() != figures["cppcheck"]:
        pytest.skip(f"the list is of what {figures['cppcheck']} finds, and this is {release()}")
    found = misra_findings(zoo, what, core, tmp_path)
    assert unlisted(found, deviations()) == []
    assert by_rule(found) == figures["misra"][what][core]
    assert all(file in figures["files"][rule] for rule, file in found)


def test_every_deviation_is_needed():
    """By what was found in all exports; the run of all cases says that it is found still."""
    files = load()["files"]
    found = Counter({(rule, file): 1 for rule in files for file in files[rule]})
    assert unneeded(found, deviations()) == []
    assert unlisted(found, deviations()) == []


@pytest.mark.slow
def test_what_is_not_meant_so_is_found(tmp_path):
    require_tool("cppcheck")
    (tmp_path / "tinyrt_test.c").write_text(UNWANTED)
    found = findings(tmp_path, "cortex-m4")
    rules = {rule for rule, _ in unlisted(found, deviations())}
    assert {"14.4", "15.1"} <= rules


def test_a_deviation_is_of_a_rule_and_of_files():
    listed = [Deviation("15.1", "advisory", "no goto", "none", ("tinyrt_*_loop.h", "*.c"))]
    found = Counter({("15.1", "tinyrt_row_loop.h"): 2, ("15.1", "tinyrt_add.h"): 1})
    assert unlisted(found, listed) == [("15.1", "tinyrt_add.h")]
    assert unneeded(found, listed) == [("15.1", "*.c")]


def test_rules_are_listed_once_with_reasons():
    listed = deviations()
    rules = [each.rule for each in listed]
    assert len(set(rules)) == len(rules)
    assert all(each.reason.strip() and each.about.strip() and each.files for each in listed)
    with pytest.raises(ValueError, match="expected required or advisory"):
        Deviation("1.1", "mandatory", "", "", ("*",))
