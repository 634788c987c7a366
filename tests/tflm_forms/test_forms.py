"""Whatever form of an op TFLM runs is exact, or its reason is listed."""

from functools import cache

import pytest

from tests.sampling import WHOLE, sampled
from tests.tflm_forms.form import rng_of

pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")

from tests.tflm_forms.reasons import REASONS, reason_of
from tests.tflm_forms.run import all_forms, outcome

SHARE = sampled(0.02, 1.0)
"""Of the forms of an op, how many are tried."""


@cache
def forms():
    """All of them, made by the first test that asks: who collects tests needs none."""
    return tuple(all_forms())


def drawn_forms():
    """A part of each op's forms, the same each time."""
    return [form for form in forms() if rng_of(f"take {form.name}").random() < SHARE]


def test_names_are_different():
    assert len({form.name for form in forms()}) == len(forms())


def test_what_tflm_runs_is_exact_or_has_a_reason():
    ran, used = 0, set()
    for form in drawn_forms():
        found = outcome(form)
        if found is None:
            continue
        ran += 1
        if found.word in ("refused", "differs"):
            reason = reason_of(form.name, found.word, found.told)
            assert reason is not None, f"{form.name}: {found.word}: {found.told}"
            used.add(reason.why)
    assert ran >= 0.3 * SHARE * len(forms())
    if WHOLE:
        assert {reason.why for reason in REASONS} == used


NEWLY = {
    "RELU6 s8 0.05,-7 to 0.021,11": "differs",
    "SLICE s8 computed size": "refused",
    "SLICE s8 s32 size (-1, 2, 2) computed begin": "exact",
    "SQUARED_DIFFERENCE s16 mid other act 0": "exact",
    "SPACE_TO_BATCH_ND s8 4d": "differs",
    "FULLY_CONNECTED s8 s8 computed bias none act 0": "exact",
    "EQUAL bool mid alike act 0": "exact",
    "NOT_EQUAL bool both alike constant act 0": "exact",
    "LEAKY_RELU s8 alpha -0.5 0.05 to 0.05": "exact",
    "LEAKY_RELU s16 alpha -0.5 0.05 to 0.05": "exact",
    "SVDF s8 state s16 rank 2 act 1": "exact",
}


@pytest.mark.parametrize("name", NEWLY)
def test_each_end_is_told_from_the_others(name):
    (form,) = (form for form in forms() if form.name == name)
    found = outcome(form)
    assert found is not None
    assert found.word == NEWLY[name]
    assert (reason_of(name, found.word, found.told) is not None) == (found.word != "exact")


def test_nothing_else_explains():
    assert reason_of("ADD s8 same alike act 0", "differs", "up to 1") is None
    assert reason_of("GREATER s16 same other act 0", "refused", "another thing") is None
