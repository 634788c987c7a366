"""Wait states of flash: never less for more of them, and what caches take away."""

import numpy as np
import pytest

from tinyrt.emulate.cycles.counts import Counts
from tinyrt.emulate.cycles.flash import MAX_LINE, Flash, with_waits
from tinyrt.errors import DataError

COUNTS = Counts(code_misses=100, flash_loads=50, data_misses=20)
BOUNDS = (700.0, 900.0)


@pytest.mark.parametrize(
    ("flash", "expected"),
    [
        (Flash(0, code_cache=0, data_cache=0), BOUNDS),
        (Flash(3), (700, 900 + 3 * 150)),
        (Flash(3, data_cache=0), (700 + 3 * 50, 900 + 3 * 150)),
        (Flash(3, data_cache=16), (700, 900 + 3 * 120)),
        (Flash(3, code_cache=0), (700, 900 + 3 * 150)),
        (Flash(9, code_cache=0), (100 * 10, 900 + 9 * 150)),
        (Flash(3, code_cache=0, data_cache=0), (850, 900 + 3 * 150)),
        (Flash(9, code_cache=16, data_cache=16), (700, 900 + 9 * 120)),
    ],
)
def test_reads_that_are_not_kept_wait(flash, expected):
    assert with_waits(BOUNDS, COUNTS, flash) == expected


@pytest.mark.parametrize("line", [0, 1, 2, 3, 5, 6, 12, 24, 31, 33, MAX_LINE - 1, 2 * MAX_LINE])
def test_a_line_that_is_no_power_of_two_is_refused(line):
    with pytest.raises(DataError, match=f"a line of flash has {line} bytes"):
        Flash(line=line)


@pytest.mark.parametrize("line", [4, 8, 16, 32, MAX_LINE])
def test_caches_keep_whole_lines_and_one_at_least(line):
    assert Flash(line=line).code_lines == 1
    flash = Flash(line=line, code_cache=5 * line - 1, data_cache=line - 1)
    assert (flash.code_lines, flash.data_lines) == (4, 1)


def test_more_wait_states_never_take_less():
    rng = np.random.default_rng(5)
    for _ in range(300):
        misses, loads = rng.integers(0, 1000, 2)
        counts = Counts({}, int(misses), int(loads), int(rng.integers(0, loads + 1)))
        least = float(misses + rng.integers(0, 1000))
        bounds = least, least + float(rng.integers(0, 500))
        caches = [[None, 0, 64][i] for i in rng.integers(0, 3, 2)]
        spans = [with_waits(bounds, counts, Flash(wait, 16, *caches)) for wait in range(6)]
        assert spans[0] == bounds
        assert all(low <= high for low, high in spans)
        assert [low for low, _ in spans] == sorted(low for low, _ in spans)
        assert [high for _, high in spans] == sorted(high for _, high in spans)


def test_a_cache_keeps_whole_lines_and_at_least_one():
    assert (Flash().code_lines, Flash(code_cache=0).code_lines) == (1, 1)
    flash = Flash(line=32, code_cache=100, data_cache=31)
    assert (flash.code_lines, flash.data_lines) == (3, 1)
