"""Text of files and tools as messages, tables and generated files show it: short and harmless."""

import numpy as np
import pytest

from tinyrt import text

LIST = ", ".join("abcdefghijklmnopqrst")
"""58 characters."""
LONG = "0123456789" * 10


@pytest.mark.parametrize(
    ("given", "limit", "shown"),
    [
        (LONG, 100, LONG),
        (LONG, 99, f"{LONG[:39]}...(100 characters)...{LONG[-38:]}"),
        (LONG, 40, f"{LONG[:9]}...(100 characters)...{LONG[-9:]}"),
        (LONG, 0, "0...(100 characters)...9"),
    ],
)
def test_long_text_loses_its_middle_and_says_its_length(given, limit, shown):
    assert text.shortened(given, limit) == shown


@pytest.mark.parametrize(
    ("given", "limit", "shown"),
    [
        (LIST, 58, LIST),
        (LIST, 30, "a, b, c, d, e, f and 14 more"),
        (LIST, 29, "a, b, c, d, e and 15 more"),
        (LIST, 21, "a, b, c and 17 more"),
        (LIST, 20, "a...(58 characters)...t"),
        (LIST.replace(",", ";"), 30, "a; b; c; d; e; f and 14 more"),
        ("a, b; c, d; e, f; g, h" + "; i" * 20, 40, "a, b; c, d; e, f; g, h; i and 19 more"),
        ("a, b, " + "c" * 90, 60, "a, b, " + "c" * 14 + "...(96 characters)..." + "c" * 19),
        ("a, b, c, " + "d" * 90, 60, "a, b, c and 1 more"),
        (" a\n  b \n", 9, "a b"),
        ("a\x1b\u202e\ud800b", 9, "a??b"),
    ],
)
def test_a_line_of_a_message_keeps_the_items_that_fit(given, limit, shown):
    assert text.message(given, limit) == shown


@pytest.mark.parametrize(
    ("lines", "shown"),
    [(1, "a b c d"), (2, "a\nd"), (3, "a\nc\nd"), (4, "a\nb\nc\nd"), (9, "a\nb\nc\nd")],
)
def test_of_many_lines_the_first_and_the_last_stay(lines, shown):
    assert text.message("a\nb\nc\nd", 20, lines) == shown


def test_lines_have_twice_the_limit_together():
    first, second = text.message(f"{LONG}\n{LONG}", 50, 2).split("\n")
    assert first == second == text.shortened(LONG, 50)
    assert text.message(f"{LONG}\n{LONG}", 100, 2) == f"{LONG}\n{LONG}"
    assert text.message(LONG, 99, 2) == text.shortened(LONG, 99)


@pytest.mark.parametrize(
    ("name", "names", "shown"),
    [
        ("conv2", ["add", "conv2d"], "did you mean 'conv2d'?"),
        ("conv2", iter(["conv1", "conv2d"]), "did you mean 'conv2d'?"),
        ("conv2", ["add", "mul"], None),
    ],
)
def test_the_name_that_is_written_most_alike_is_told(name, names, shown):
    assert text.closest(name, names) == shown


@pytest.mark.parametrize(
    ("given", "encoding", "shown"),
    [
        ("█·…µ×–─━│┃┌╿", "ascii", "#..ux---||++"),
        ("é×", "latin-1", "é×"),
        ("é×─", "latin-1", "?x-"),
        ("─▀", "no such encoding", "-?"),
        ("─é", "utf-8", "─é"),
    ],
)
def test_what_an_encoding_lacks_is_shown_in_ascii(given, encoding, shown):
    assert text.encodable(given, encoding) == shown


def test_names_of_the_toolchains_own_are_shown_without_their_mark():
    own = text.own_name("a<b>é\n")
    assert own != "a<b>é\n"
    assert text.shown_name(own) == text.shown_name("a<b>é\n") == "a<b>é\n"
    assert text.clean(own) == "a_b___"
    assert text.printable(own) == "a<b>é\n"
    with pytest.raises(UnicodeEncodeError):
        own.encode()


def test_shown_names_are_cut_where_nothing_else_is_said():
    assert text.clean("x" * 512) == "x" * 512
    assert text.clean("x" * 513) == text.shortened("x" * 513, 512)
    assert text.clean(LONG, 40) == text.shortened(LONG, 40)


def test_what_json_lacks_is_null():
    array = np.array([[1.5, np.nan], [np.inf, -2]], np.float32)
    data = {"y": array.tolist(), "n": (3, -4), "deep": [{"z": -np.inf, "s": "nan", "b": True}]}
    wanted = '{"y": [[1.5, null], [null, -2.0]], "n": [3, -4], "deep": [{"z": null, '
    assert text.json_of(data) == wanted + '"s": "nan", "b": true}]}'
