"""The contents of an arena's bytes, in runs: the same as a list with an entry for each byte."""

from itertools import combinations_with_replacement, groupby

import numpy as np
import pytest

from tinyrt.memory.check.contents import Content, Contents, Run, part

NBYTES = 7
KINDS = Content(0, 0), Content(3), Content(3, 0), Content(4)


def runs_of(held, start, stop):
    """Bytes of one content, as long as they go on."""
    groups = groupby(range(start, stop), key=held.__getitem__)
    found = ((content, [*places]) for content, places in groups)
    return [Run(at[0], at[-1] + 1, content) for content, at in found]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_held_byte_by_byte_in_as_few_runs_as_can_be(seed):
    rng = np.random.default_rng(seed)
    contents, held = Contents(NBYTES, KINDS[0]), [KINDS[0]] * NBYTES
    for _ in range(20):
        start, stop = (int(i) for i in rng.integers(0, NBYTES + 1, 2))
        kind = KINDS[rng.integers(len(KINDS))]
        contents.write(start, stop, kind)
        held[start:stop] = [kind] * (stop - start)
        for low, high in combinations_with_replacement(range(NBYTES + 1), 2):
            assert [*contents.runs(low, high)] == runs_of(held, low, high)
            for one in KINDS:
                assert contents.is_all(low, high, one) is (held[low:high] == [one] * (high - low))


def test_parts_of_runs_move_with_their_numbers():
    runs = [Run(2, 5, Content(10)), Run(5, 9, Content(7, 0))]
    assert [*part(runs, 3, 7, to=20)] == [Run(20, 22, Content(-7)), Run(22, 24, Content(7, 0))]
    assert [*part(runs, 3, 5)] == [Run(0, 2, Content(13))]
    assert [*part(runs, 0, 2)] == [*part(runs, 9, 12)] == [*part(runs, 4, 4)] == []
