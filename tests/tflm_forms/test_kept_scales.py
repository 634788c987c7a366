"""Ops that move integers between tensors of several scales: TFLM's answers, however written."""

import re
import warnings

import numpy as np
import pytest

from tests.sampling import sampled
from tests.tflm_forms.form import rng_of

pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")

import tinyrt
from tests.tflm_forms.moving import ALIKE, FAMILIES, Mover
from tests.tflm_forms.run import all_forms, feeds_of, tflm_answers, tinyrt_answers
from tinyrt.convert.tflite.one_scale import COPIED, CUT, PRESCRIBED
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ConversionWarning, VerifyError

KEPT = (COPIED | CUT) - {"SPACE_TO_BATCH_ND"}
MOVING = "|".join(sorted(KEPT | {"CONCATENATION"}))
FORMS = [
    form
    for form in all_forms()
    if re.fullmatch(
        rf"({MOVING}) .*(other|far|mixed).*|({'|'.join(PRESCRIBED)}|FILL) s8 .*", form.name
    )
    and "computed size" not in form.name
]
SHARE = sampled(0.1, 1.0)


def is_told(data):
    """Whether a warning says that integers stay."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parse_tflite(data)
    return any("integers move to another scale" in str(w.message) for w in caught)


def same(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(x, y.reshape(x.shape), strict=True)


def test_answers_are_tflm_s_however_the_file_was_written(tmp_path):
    ran = set()
    for form in FORMS:
        if rng_of(f"kept {form.name}").random() >= SHARE:
            continue
        feeds = feeds_of(form)
        wanted = tflm_answers(form.data, feeds)
        if wanted is None:
            continue
        source, target = tmp_path / "a.tflite", tmp_path / "b.tflite"
        source.write_bytes(form.data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConversionWarning)
            again = write_tflite(parse_tflite(form.data))
            tinyrt.convert_model(source, target)
            for data in (form.data, again, target.read_bytes()):
                same(tinyrt_answers(data, feeds), wanted)
        ran.add(form.builtin)
    assert len(ran) > 10


@pytest.mark.parametrize("q", [(ALIKE[0], 11), (0.02, ALIKE[1])])
def test_a_scale_or_a_zero_point_alone_is_another(q):
    """The first form of each op."""
    mover, forms = Mover("s8", q), {}
    for form in (form for family in FAMILIES for form in family(mover)):
        forms.setdefault(form.builtin, form)
    ran = set()
    for builtin, form in forms.items():
        feeds = feeds_of(form)
        wanted = tflm_answers(form.data, feeds) if builtin in KEPT else None
        if wanted is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConversionWarning)
            same(tinyrt_answers(form.data, feeds), wanted)
        ran.add(builtin)
    assert len(ran) > 15


@pytest.mark.parametrize("backend", ["reference", "native"])
@pytest.mark.parametrize("name", ["MAXIMUM s8 row far act 0", "SPLIT s16 axis 1 other",
                                  "PADV2 s8 3d computed of rank 1 other"])  # fmt: skip
def test_every_backend_keeps_them(name, backend):
    (form,) = (form for form in FORMS if form.name == name)
    feeds = feeds_of(form)
    with pytest.warns(ConversionWarning, match="their integers stay"):
        found = tinyrt_answers(form.data, feeds, backend)
    same(found, tflm_answers(form.data, feeds))


def test_a_warning_names_the_tensors():
    for form in FORMS:
        named = ("RESHAPE s8 other", "TANH s8 0.05,-7 to 0.021,11", "UNPACK s8 axis 0 other")
        if form.name in named:
            assert is_told(form.data)
            assert is_told(write_tflite(parse_tflite(form.data)))
    with pytest.warns(ConversionWarning, match=r"another scale or zero point: 'x'\. As"):
        parse_tflite(next(f.data for f in FORMS if f.name == "TRANSPOSE s8 (1, 0, 2) other"))


def test_joins_of_int8_on_several_scales_are_refused_as_in_tflm():
    (form,) = (form for form in FORMS if form.name == "CONCATENATION s8 mixed")
    assert tflm_answers(form.data, feeds_of(form)) is None
    with pytest.raises(VerifyError, match="differ from"):
        parse_tflite(form.data)


def test_what_int8_prescribes_is_int8_s_alone():
    named = (
        *("LOGISTIC s16 0.000488,0 to 3.05e-05,0", "TANH s16 0.000488,0 to 3.05e-05,0"),
        *("LOGISTIC u8 0.05,-7 to 0.00391,-128", "TANH u8 0.05,-7 to 0.00781,0"),
        "L2_NORMALIZATION u8 0.05,-7 to 0.00781,0",
    )
    found = [form for form in all_forms() if form.name in named]
    assert len(found) == len(named)
    for form in found:
        assert not any(
            node.op == "quantize" and node.attrs.kept for node in parse_tflite(form.data).nodes
        )
