"""Figures of a page, against what its own examples have just left in their folder."""

import json


def cascades(folder, text):
    """The table of the cascade that the page makes, and its small model's cost."""
    told = json.loads((folder / "cascade.json").read_text())
    taken, small = told["instructions"], told["top1"]
    rows = (
        f"| accuracy | {small:.2%} | {told['second_top1']:.2%} |",
        f"| answered by the small model | {told['exits']:.2%} | |",
        f"| instructions, mean, Cortex-M4 | {taken['mean']:,.0f} | {taken['second_alone']:,} |",
        f"| of the large model alone | {told['cost']:.1%} | |",
        f"The small model takes {taken['first_answers']:,.0f} instructions.",
    )
    return [row for row in rows if row.replace("%", " %") not in text]


PAGES = {"cascades.md": cascades}
"""Page -> what gives those of its lines that say something else."""
