"""Whatever a file may cost is asked for, in the amount that it is, before it is allocated."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.graphs import Builder
from tests.ledger import datasets, onnx, passes, running, tflite  # noqa: F401, as each adds its cases
from tests.ledger.case import CASES, Case
from tests.ledger.running import BYTES, N
from tests.ledger.watch import Entry, Ledger, sites, watched
from tinyrt.budget import Budget, limited
from tinyrt.errors import BudgetError
from tinyrt.interpreter.tensors import place_tensors
from tinyrt.ops.concatenation import ConcatenationAttrs

SLACK = 60_000
"""Bytes of Python's own that no budget is asked for: names, lists, tables."""

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@cache
def ledger_of(case: Case) -> tuple[Ledger, list[Entry]]:
    """What the case asks for when it runs the second time, and what it should."""
    with TemporaryDirectory() as folder:
        run, expected = case.build(Path(folder))
        run()
        with limited(), watched() as ledger:
            run()
    return ledger, expected


@cases
def test_it_asks_for_what_it_costs(case):
    ledger, expected = ledger_of(case)
    assert ledger.of(*case.modules) == expected


@pytest.mark.parametrize("case", [c for c in CASES if c.measured], ids=lambda case: case.name)
def test_it_allocates_no_more_than_it_has_asked_for(case):
    ledger, _ = ledger_of(case)
    nbytes, after = max(ledger.unasked, default=(0, ()))
    files = sum(entry[1] for entry in ledger.of("convert/onnx/reader.py")) if case.raw else 0
    assert nbytes < SLACK + files, after


@cases
def test_a_limit_of_just_what_it_needs_is_enough(case, tmp_path):
    ledger, _ = ledger_of(case)
    most = max(ledger.asked, key=lambda asked: asked.need)
    run, _ = case.build(tmp_path)
    with limited(memory=most.need):
        run()
    if most.need:
        with limited(memory=most.need - 1), pytest.raises(BudgetError) as caught:
            run()
        assert most.entry[2] in str(caught.value)


@pytest.mark.parametrize(
    ("memory", "tensor"),
    [
        (BYTES - 1, f"'x' f32[1,{N},{N}]"),
        (2 * BYTES - 1, f"'concatenation_0' f32[2,{N},{N}]"),
        (4 * BYTES - 1, "inputs and arena"),
    ],
)
def test_what_is_too_large_to_be_computed_is_named(memory, tensor):
    b = Builder((1, N, N))
    graph = b.graph(b.op("concatenation", ("x", "x"), ConcatenationAttrs(0)))
    with pytest.raises(BudgetError, match="what the model computes takes") as caught:
        place_tensors(graph, budget=Budget(memory))
    assert caught.value.tensor == tensor
    place_tensors(graph, budget=Budget(4 * BYTES))


def test_every_place_that_asks_is_reached():
    reached = {place for case in CASES for place in ledger_of(case)[0].places()}
    missed = [
        f"{path}:{first}: {text}"
        for (path, first, last), text in sites().items()
        if not any((path, line) in reached for line in range(first, last + 1))
    ]
    assert not missed, "places that no case of tests/ledger reaches:\n" + "\n".join(missed)
    known = {(path, line) for path, *ends in sites() for line in range(ends[0], ends[1] + 1)}
    assert reached <= known, "places that sites() does not find"
