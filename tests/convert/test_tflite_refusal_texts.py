"""What is said about each .tflite file that makes no sense, word by word."""

import pytest

from tests.convert.tflite_refusal_texts import CASES, TABLES, kept_texts, text_of

TEXTS = kept_texts()


def test_each_case_has_its_text():
    assert list(TEXTS) == list(CASES)
    assert len(CASES) == sum(map(len, TABLES))


@pytest.mark.parametrize("kind", CASES)
def test_the_whole_text_is_as_kept(kind):
    assert text_of(CASES[kind]) == TEXTS[kind]
