"""Arenas of ops that run row by row, next to the fewest bytes in which their rows can be made."""

from dataclasses import replace

import pytest

from tests.docs.pages import rows_of
from tests.memory.row_bound import Maker, RowSearch, makers_of
from tests.memory.targets import DSP
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.memory import plan_by_rows, plan_pushed

pytestmark = pytest.mark.slow


BOUNDS = [
    ("resnet8", False, 12_000, 12_160),
    ("resnet8", True, 10_500, 11_008),
    ("dscnn_kws", False, 4_200, 4_122),
]
"""Model, whether its input is pushed, the goal, and the least of any order."""


def test_the_page_has_these_bounds():
    for (name, pushed, *figures), row in zip(
        BOUNDS, rows_of("memory.md", "model | goal"), strict=True
    ):
        assert row[0] == f"{name}, {'`--input-rows`' if pushed else 'input held'}"
        said = [int(cell.partition(":")[0].replace(",", "")) for cell in row[1:3]]
        assert said == figures


@pytest.mark.parametrize(("name", "pushed", "wanted", "bound"), sampled(BOUNDS[2:], BOUNDS))
def test_no_order_of_rows_takes_less(zoo, name, pushed, wanted, bound):
    graph = read_tflite(zoo / "models" / f"{name}_int8.tflite")
    plan = plan_pushed(graph, DSP) if pushed else plan_by_rows(graph, DSP, costly=True)
    (segment,) = plan.segments
    search = RowSearch(makers_of(graph, segment.stop, pushed=pushed), held=not pushed)
    assert segment.first == 0
    assert search.fits(plan.arena_bytes)
    assert search.fits(bound)
    assert not search.fits(bound - 1)
    assert search.fits(wanted) == (wanted >= bound)


def test_the_search_finds_what_can_be_counted_by_hand():
    """Windows of three rows. Held: the input and two rows of the first op. Pushed: three of one
    tensor, two of the other, and the one that is made.
    """
    one = Maker(8, 10, apart=False)
    two, three = (Maker(8, 10, ((source, 3, 1, 1),)) for source in (0, 1))
    held = RowSearch([one, two, three], held=True)
    assert held.fits(8 * 10 + 2 * 10)
    assert not held.fits(8 * 10 + 2 * 10 - 1)
    pushed = RowSearch([replace(one, apart=True), two, three], held=False)
    assert pushed.fits(6 * 10)
    assert not pushed.fits(6 * 10 - 1)
