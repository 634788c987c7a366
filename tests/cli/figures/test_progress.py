"""Counts that long work gives while it runs: from less to more, of the same total, to its end."""

from itertools import groupby

import numpy as np
import pytest

from tinyrt import api
from tinyrt.quantize.mixed.budget import Budget

SLOW = Budget(min_sqnr_db=47)

WORK = {
    "run": (lambda made, out, p: api.run_model(made.int8, made.test, progress=p), [16]),
    "eval": (lambda made, out, p: api.evaluate(made.int8, made.test, progress=p), [16]),
    "quantize": (
        lambda made, out, p: api.quantize_model(made.net, made.calib, out, progress=p),
        [24, 8],
    ),
    "debug": (
        lambda made, out, p: api.debug_model(made.net, made.int8, made.test, progress=p),
        [8],
    ),
}
"""Work, and the totals of its parts: samples, or layers."""


@pytest.mark.parametrize(("work", "totals"), WORK.values(), ids=WORK)
def test_counts_of_each_part_go_up_to_its_total(work, totals, made, tmp_path):
    seen = []
    work(made, tmp_path / "o.tflite", lambda *counts: seen.append(counts))
    parts = [(total, [n for n, _ in part]) for total, part in groupby(seen, lambda c: c[1])]
    assert [total for total, _ in parts] == totals
    for total, counts in parts:
        assert counts == sorted(counts)
        assert min(counts) >= 0
        assert counts[-1] == total


def test_pieces_of_a_run_count_on(made, tmp_path):
    """A hundred times as many samples, of which memory holds a few at a time."""
    with np.load(made.test) as data:
        np.savez(tmp_path / "x.npz", x=np.tile(data["x"], (100, 1, 1, 1)))
    seen = []
    api.evaluate(made.int8, tmp_path / "x.npz", progress=lambda *counts: seen.append(counts))
    assert seen[-1] == (1600, 1600)
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {1600}


def test_a_search_counts_the_models_that_it_measured(made):
    seen = []
    api.bisect_model(
        *(made.net, made.int8, made.test),
        labels=None,
        target=SLOW,
        progress=lambda *counts: seen.append(counts),
    )
    counts = [count for count, _ in seen]
    assert counts == list(range(1, len(counts) + 1))
    assert all(count <= total for count, total in seen)


@pytest.mark.slow
def test_an_emulation_counts_samples(made):
    seen = []
    report = api.run_emulated(
        made.int8, core="host", samples=5, progress=lambda *counts: seen.append(counts)
    )
    assert report.samples == 5
    assert seen == sorted(seen)
    assert all(0 <= count <= total == 5 for count, total in seen)
