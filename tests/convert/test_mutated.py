"""Damaged files give only ``TinyrtError``; ``python -m tests.mutate`` runs ten thousand."""

from tests.mutate import run


def test_damaged_files_are_refused_by_name():
    assert run(1000, seed=1) == []
