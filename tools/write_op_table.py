"""Write docs/ops.md from the op records: run it after adding an op or a backend."""

from pathlib import Path

from tinyrt.interpreter.support import support_markdown
from tinyrt.ops.absent import NOT_ON_DEVICES

PAGE = Path(__file__).parent.parent / "docs" / "ops.md"
INTRODUCTION = """# Ops

Which op runs where, and for which dtypes (f32: float32, s8: int8). `tinyrt ops` prints this table.
"gradient" says that the op can be trained. `tools/write_op_table.py` writes this page from the op
records.

"""


def page() -> str:
    """The page's text."""
    absent = "".join(f"- {op}: {reason}.\n" for op, reason in NOT_ON_DEVICES.items())
    return f"{INTRODUCTION}{support_markdown()}\n\nOps without C, and why:\n\n{absent}"


if __name__ == "__main__":
    PAGE.write_text(page())
