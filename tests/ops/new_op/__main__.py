"""``python -m tests.ops.new_op``: place left out -> what is said of it, as JSON.

What tinyrt needs of others is imported once; each place is left out in a process of its own, for
what follows from the table of ops is worked out as tinyrt is imported.
"""

from __future__ import annotations

import json
from multiprocessing import get_context

import numba  # noqa: F401
import onnx  # noqa: F401

from tests.ops.new_op.places import PLACES, WITHOUT_TRAITS, add_op

NOTHING = "nothing"


def said_of(left_out: str) -> str:
    """Why the op is not complete without that place; nothing where it is."""
    add_op(left_out)
    try:
        from tests.ops.new_op.abilities import check_abilities
        from tests.ops.new_op.missing import missing
    except ModuleNotFoundError as error:
        return str(error)
    found = missing("atan")
    if left_out == NOTHING and not found:
        check_abilities("atan", "Atan", "atanf")
    return "; ".join(found)


def main() -> None:
    """Print what is said with nothing left out, and with each place."""
    asked = [NOTHING, *PLACES, WITHOUT_TRAITS]
    with get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        print(json.dumps(dict(zip(asked, pool.map(said_of, asked, chunksize=1), strict=True))))


if __name__ == "__main__":
    main()
