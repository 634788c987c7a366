"""What a new op takes: where it is written, and that each place that lacks it is named.

An element-wise op of one input, with an int8 form that is a table of 256 answers, is written in:

1. a file of its own in ``tinyrt/ops``: the record, with shapes, float reference, gradient, integer
   form and traits;
2. ``tinyrt/ops/__init__.py``: its line in ``OPS``;
3. ``tinyrt/convert/onnx/pointwise.py``: ONNX's name for it, if it has one;
4. ``tinyrt/convert/tflite/ops.py``: its codec, unless its traits say that the format lacks it;
5. ``tinyrt/backends/c/tables.py``: the C function that computes floats.

All else follows from the record: the table's kernels on every backend, passes, steps of
``pointwise``, pruning, rows, models over time, cases of tests, the tables of docs. ``new_op``
writes such an op into the files as they are imported, all but one place at a time.
"""

import json
import subprocess
import sys

import pytest

from tests.ops.new_op.missing import missing
from tests.ops.new_op.places import PLACES, RECORD_PLACES, WITHOUT_TRAITS
from tinyrt.ops import OPS

MAX_PLACES = 5


@pytest.fixture(scope="module")
def said():
    """Place left out -> what is said of the op."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.ops.new_op"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.whole
def test_an_op_that_is_in_all_places_can_do_everything(said):
    assert said["nothing"] == ""
    assert len(PLACES) <= MAX_PLACES


@pytest.mark.whole
@pytest.mark.parametrize("place", PLACES)
def test_the_place_that_lacks_it_is_named(said, place):
    assert place in said[place]
    assert "atan" in said[place].lower()


@pytest.mark.whole
def test_all_places_that_lack_it_are_named_at_once(said):
    lacking = PLACES.keys() - {*RECORD_PLACES}
    assert len(lacking) > 2
    assert [place for place in lacking if place not in said["all but the record"]] == []


@pytest.mark.whole
def test_traits_that_are_left_out_are_asked_for(said):
    assert "traits" in said[WITHOUT_TRAITS]


@pytest.mark.parametrize("op", sorted(OPS))
def test_no_op_lacks_a_place(op):
    found = missing(op)
    assert not found, "\n".join(found)
