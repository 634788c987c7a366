"""Calls in parts: the rounds and turns that they are written in."""

import numpy as np
import pytest

from tinyrt.backends.c.kernel import Call, Data, Number, Params, Place, Scratch
from tinyrt.backends.c.parts.cutting import Part
from tinyrt.backends.c.parts.rounds import MAX_PATTERN, stages_of
from tinyrt.ir import DType, QParams, Value

X = Value("x", DType.INT8, (1, 40, 6, 8), QParams((0.5,)))
Y = Value("y", DType.INT8, (1, 40, 6, 4), QParams((0.5,)))


def at(x, y=0, kind="f", **fields):
    """A part that reads at x and writes at y."""
    args = (Params("p_t", fields), Place(X, x), Scratch(), Place(Y, y)) if fields else ()
    return Part(Call(kind, args or (Place(X, x), Place(Y, y))), 5)


def replayed(stages):
    """The parts that stages stand for, as a device runs them."""
    place, rounds, turns = 0, 0, 0
    found = []
    while place < len(stages):
        stage = stages[place]
        one = stage.part.call
        where = tuple(
            arg.skip + arg.each[0] * rounds + arg.each[1] * turns
            for arg in one.args
            if isinstance(arg, Place | Data)
        )
        inner = tuple(
            data.skip + data.each[0] * rounds + data.each[1] * turns
            for arg in one.args
            if isinstance(arg, Params)
            for data in arg.fields.values()
            if isinstance(data, Data)
        )
        numbers = tuple(
            arg.value + arg.each[0] * rounds + arg.each[1] * turns
            for arg in one.args
            if isinstance(arg, Number)
        )
        found.append((one.function, where, inner, numbers))
        if stage.rounds > 1:
            rounds += 1
            if rounds < stage.rounds:
                place -= stage.back
                continue
            rounds = 0
        if stage.turns > 1:
            turns += 1
            if turns < stage.turns:
                place -= stage.turn_back
                continue
            turns = 0
        place += 1
    return found


def shapes(stages):
    return [(s.rounds, s.back, s.turns, s.turn_back) for s in stages]


TABLE = Data("w", np.arange(100))
OTHER = Data("w", np.arange(1, 101))


def moved(n):
    return Data("w", TABLE.array, skip=n)


CASES = {
    "none": ([], []),
    "alone": ([at(0)], [(1, 0, 1, 0)]),
    "a run": ([at(3 * i, 2 * i) for i in range(5)], [(5, 0, 1, 0)]),
    "uneven steps": ([at(0), at(1), at(5)], [(2, 0, 1, 0), (1, 0, 1, 0)]),
    "other functions": ([at(0), at(1, kind="g")], [(1, 0, 1, 0)] * 2),
    "other fields": ([at(0, n=1), at(1, n=2)], [(1, 0, 1, 0)] * 2),
    "other data": ([at(0, w=TABLE), at(1, w=OTHER)], [(1, 0, 1, 0)] * 2),
    "data": ([at(i, w=moved(7 * i)) for i in range(3)], [(3, 0, 1, 0)]),
    "nested fields": ([at(i, w={"n": [1, 2]}) for i in range(3)], [(3, 0, 1, 0)]),
    "nested fields that differ": ([at(i, w={"n": [1, i]}) for i in range(2)], [(1, 0, 1, 0)] * 2),
    "numbers": (
        [Part(Call("f", (Number(4 - i), Number(2.5), Place(X, i))), 1) for i in range(3)],
        [(3, 0, 1, 0)],
    ),
    "other floats": (
        [Part(Call("f", (Number(i + 0.5),)), 1) for i in range(2)],
        [(1, 0, 1, 0)] * 2,
    ),
    "kinds of arguments": (
        [Part(Call("f", (arg,)), 1) for arg in (Scratch(), Number(1))],
        [(1, 0, 1, 0)] * 2,
    ),
    "a pattern": (
        [at(i, kind=kind) for i in range(4) for kind in "fg"],
        [(1, 0, 1, 0), (1, 0, 4, 1)],
    ),
    "turns": (
        [at(10 * row + x, row) for row in range(4) for x in (0, 1, 2)],
        [(3, 0, 4, 0)],
    ),
    "turns of several": (
        [
            at(10 * row + x, kind=kind)
            for row in range(3)
            for kind, xs in (("f", (0,)), ("g", (1, 2, 3)), ("h", (9,)))
            for x in xs
        ],
        [(1, 0, 1, 0), (3, 0, 1, 0), (1, 0, 3, 2)],
    ),
    "turns of a pattern": (
        [at(100 * row + 2 * x, kind=kind) for row in range(3) for x in range(3) for kind in "fg"]
        + [at(7, kind="h")],
        [(1, 0, 1, 0), (3, 1, 3, 1), (1, 0, 1, 0)],
    ),
    "data of other steps": (
        [at(i, w=moved(7 * i)) for i in range(3)] + [at(9 + i, w=moved(50 + i)) for i in range(3)],
        [(3, 0, 1, 0)] * 2,
    ),
    "numbers of other steps": (
        [Part(Call("f", (Number(i),)), 1) for i in (0, 1, 2, 9, 11, 13)],
        [(3, 0, 1, 0)] * 2,
    ),
    "patterns of other lengths": (
        [at(i) for i in range(3)] + [at(100 + 7 * i) for i in range(4)],
        [(3, 0, 1, 0), (4, 0, 1, 0)],
    ),
    "too long a pattern": (
        [at(i, kind=f"f{n}") for i in range(2) for n in range(MAX_PATTERN + 1)],
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_stages_run_what_the_parts_are(name):
    parts, expected = CASES[name]
    stages = stages_of(parts)
    assert replayed(stages) == [replayed([stage])[0] for stage in map(alone, parts)]
    if expected is not None:
        assert shapes(stages) == expected


def alone(part):
    (stage,) = stages_of([part])
    return stage


def test_the_longest_pattern_is_found():
    for length in range(2, MAX_PATTERN + 1):
        parts = [at(i, kind=f"f{n}") for i in range(3) for n in range(length)]
        stages = stages_of(parts)
        assert len(stages) == length
        assert stages[-1].rounds * stages[-1].turns == 3


def test_random_parts_are_what_their_stages_run():
    rng = np.random.default_rng(11)
    for _ in range(60):
        steps = rng.integers(1, 4, 3)
        parts = [
            at(int(v), kind="fg"[int(k)])
            for v, k in zip(np.cumsum(rng.choice(steps, 12)), rng.integers(0, 2, 12), strict=True)
        ] * int(rng.integers(1, 3))
        stages = stages_of(parts)
        assert replayed(stages) == [replayed([stage])[0] for stage in map(alone, parts)]
        for i, stage in enumerate(stages):
            assert stage.repeats == (stage.rounds > 1 or stage.turns > 1)
            assert stage.reach <= i
