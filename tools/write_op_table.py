"""Write docs/ops.md from the op records: run it after adding an op or a backend."""

from pathlib import Path

from tinyrt.backends.support import support_markdown
from tinyrt.ops.shared.unsupported import NOT_IN_INTEGERS, NOT_ON_DEVICES

PAGE = Path(__file__).parent.parent / "docs" / "ops.md"
INTRODUCTION = """# Ops

Which op runs where, and for which dtypes (f32: float32, s8: int8; int: plain integers without
scales). `tinyrt ops` prints this table.
"gradient" says that the op can be part of what is trained. `tools/write_op_table.py` writes this
page from the op records.

"By table": in int8 models these ops are part of `pointwise`. It is one table of 256 answers, for
one op or for several that follow each other on one tensor ([more](quantize.md)).

"Inputs only": these ops read quantised tensors, but answer with places or truth values. These have
no scale, and are the same in float and integer models. No runtime has ARG_MAX and ARG_MIN on int16.
In files they stand behind a DEQUANTIZE, which tinyrt leaves out again when it reads them.

"""


def page() -> str:
    """The page's text."""
    parts = [f"{INTRODUCTION}{support_markdown()}\n"]
    for what, reasons in (("in integers", NOT_IN_INTEGERS), ("in C on floats", NOT_ON_DEVICES)):
        listed = "".join(f"- {op}: {reason}.\n" for op, reason in reasons.items())
        parts.append(f"Ops that are not {what}, and why:\n\n{listed}")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
