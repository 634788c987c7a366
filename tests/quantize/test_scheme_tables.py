"""Every scheme has its entry in every table that is asked by scheme, and a line in the page."""

import re

import pytest

from tests.docs.pages import ROOT
from tests.quantize.test_schemes import test_every_scheme_comes_near_and_survives_the_file as near
from tinyrt.quantize.config import USUAL_PRESETS, Scheme
from tinyrt.quantize.mixed.assign import WEIGHT_BITS
from tinyrt.quantize.mixed.noise import WEIGHTS_OF
from tinyrt.quantize.schemes import ACTIVATIONS

QUANTIZED = set(Scheme) - {Scheme.FLOAT}


@pytest.mark.parametrize("table", [ACTIVATIONS, USUAL_PRESETS, WEIGHT_BITS])
def test_tables_have_every_scheme(table):
    assert set(table) == set(Scheme)


def test_integer_weights_cause_noise():
    assert {s for s in WEIGHT_BITS if WEIGHT_BITS[s] <= 8} == set(WEIGHTS_OF)


def test_every_scheme_is_measured():
    (mark,) = near.pytestmark
    assert {scheme for scheme, _ in mark.args[1]} == QUANTIZED


def test_the_page_lists_every_scheme():
    page = (ROOT / "docs" / "quantize.md").read_text(encoding="utf-8")
    table = page[page.index("| `--scheme` |") :].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w[\w-]+)`", table, re.MULTILINE)) == {s.value for s in QUANTIZED}
