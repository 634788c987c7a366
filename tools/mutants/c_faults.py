"""Faults in C: one token or one statement of a kernel, changed where it is code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.faults import Place

SKIPPED = re.compile(
    r"""/\*.*?\*/            # a comment
    | //[^\n]*
    | "(?:\\.|[^"\\\n])*"    # text, which assembly is made of
    | ^[ \t]*\#(?:\\\n|[^\n])*  # what the preprocessor reads
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
EXPRESSION = r"(?<=[\w)\]] ){}(?= [\w(*&~!-])"
"""An operator between two operands: clang-format sets it apart."""


def _between(operator: str) -> str:
    return EXPRESSION.format(re.escape(operator))


@dataclass(frozen=True)
class Rule:
    """A pattern, and what stands in its place."""

    pattern: str
    replacement: str


RULES = {
    "plus": Rule(_between("+"), "-"),
    "minus": Rule(_between("-"), "+"),
    "times": Rule(r"(?<=[\w)\]] )\*(?= [\w(])", "+"),
    "less": Rule(_between("<"), "<="),
    "less or equal": Rule(_between("<="), "<"),
    "greater": Rule(_between(">"), ">="),
    "greater or equal": Rule(_between(">="), ">"),
    "equal": Rule(_between("=="), "!="),
    "unequal": Rule(_between("!="), "=="),
    "shift left": Rule(_between("<<"), ">>"),
    "shift right": Rule(_between(">>"), "<<"),
    "and": Rule(_between("&&"), "||"),
    "or": Rule(_between("||"), "&&"),
    "bits and": Rule(_between("&"), "|"),
    "bits or": Rule(_between("|"), "&"),
    "add to": Rule(r"(?<= )\+=(?= )", "="),
    "number up": Rule(r"(?<![\w.\"])(\d+)(?![\w.])", r"(\1 + 1)"),
    "number down": Rule(r"(?<![\w.\"])([1-9]\d*)(?![\w.])", r"(\1 - 1)"),
    "hex up": Rule(r"(?<![\w.])(0x[0-9a-fA-F]+)(?![\w.])", r"(\1 + 1)"),
    "condition never": Rule(r"(?<=\bif )\((?=[^\n]*\) \{$)", "(0 && "),
    "condition always": Rule(r"(?<=\bif )\((?=[^\n]*\) \{$)", "(1 || "),
    "choice": Rule(r"(?<= )\?(?= )", "&& 0 ?"),
    "statement": Rule(
        r"^[ \t]+(?!return\b|const\b|static\b|u?int\d|float\b|break|goto|(?:__)?asm)"
        r"[\w*][^;{}\n]*;$",
        ";",
    ),
}
"""Operator's name -> what it changes."""
COMPILED = {name: re.compile(rule.pattern, re.MULTILINE) for name, rule in RULES.items()}


def places(root: Path, path: str) -> list[Place]:
    """Every place where some operator can change the file."""
    source = (root / path).read_text()
    found = []
    for name in RULES:
        for i, match in enumerate(_matches(source, name)):
            found.append(Place(path, name, i, source.count("\n", 0, match.end()) + 1))
    return found


def changed(before: str, place: Place) -> str:
    """The file with the fault."""
    match = list(_matches(before, place.operator))[place.occurrence]
    return (
        before[: match.start()]
        + match.expand(RULES[place.operator].replacement)
        + before[match.end() :]
    )


def _matches(source: str, name: str) -> Iterator[re.Match[str]]:
    """Matches in code: those in comments, text and the preprocessor's lines are none."""
    code = SKIPPED.sub(lambda skipped: re.sub(r"[^\n]", " ", skipped.group()), source)
    return COMPILED[name].finditer(code)
