"""``python -m tests.tflm_forms``: every form of every op; ``--write`` puts the table in a page."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path

from tests.tflm_forms.reasons import reason_of
from tests.tflm_forms.run import all_forms, outcome
from tools.page import write_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"
NAME = "forms"
"""What the page calls the table."""


def main(arguments: list[str]) -> int:
    """Print the table; 1 where an end has no reason."""
    words: Counter[str] = Counter()
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    unknown = []
    for form in all_forms():
        if (found := outcome(form)) is None:
            continue
        words[found.word] += 1
        if found.word in ("refused", "differs"):
            reason = reason_of(form.name, found.word, found.told)
            if reason is None:
                unknown.append(f"{form.name}: {found.word}: {found.told}")
            else:
                reasons[reason.word, reason.why][form.builtin] += 1
    ends = ("exact", "float", "refused", "differs")
    told = ", ".join(f"{words[word]:,} {word}" for word in ends)
    lines = ["| ops | forms | are | why |", "|---|---|---|---|"]
    for (word, why), ops in sorted(reasons.items(), key=lambda item: (item[0][0], min(item[1]))):
        names = ", ".join(f"`{op}`" for op in sorted(ops))
        end = {"refused": "refused", "differs": "answered otherwise"}[word]
        lines.append(f"| {names} | {ops.total()} | {end} | {why} |")
    table = "\n".join([*lines, "", f"{words.total():,} forms: {told}."])
    print(table)
    print(*unknown, sep="\n")
    if "--write" in arguments:
        write_table(NAME, table, PAGE)
    return int(bool(unknown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
