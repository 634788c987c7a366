"""Amounts as people write them."""

from __future__ import annotations

from tinyrt.errors import TinyrtError


def parse_bytes(text: str) -> int:
    """``32k`` -> 32768, ``1M`` -> 1048576, ``2G`` -> 2147483648, plain numbers as they are.

    Raises:
        TinyrtError: the text is not of that form.

    """
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "")
    factors = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    if not (number.isascii() and number.isdecimal()) or len(number) > 18 or unit not in factors:
        raise TinyrtError(
            f"'{text}' is not a number of bytes", expected="a number, with k, M or G behind it"
        )
    return int(number) * factors[unit]
