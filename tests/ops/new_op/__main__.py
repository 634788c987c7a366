"""``python -m tests.ops.new_op``: what is left out -> all that is said of it, as JSON.

What tinyrt needs of others is imported once; each place is left out in a process of its own, for
what follows from the table of ops is worked out as tinyrt is imported.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from multiprocessing import get_context

import numba  # noqa: F401
import onnx  # noqa: F401

from tests.ops.new_op.places import PLACES, RECORD_PLACES, WITHOUT_TRAITS, add_op

NOTHING = "nothing"
ALL_BUT_THE_RECORD = "all but the record"

LEFT_OUT: dict[str, Collection[str]] = {
    NOTHING: (),
    **{place: (place,) for place in PLACES},
    WITHOUT_TRAITS: (WITHOUT_TRAITS,),
    ALL_BUT_THE_RECORD: PLACES.keys() - {*RECORD_PLACES},
}


def said_of(name: str) -> str:
    """Why the op is not complete without these places; nothing where it is."""
    add_op(LEFT_OUT[name])
    try:
        from tests.ops.new_op.abilities import check_abilities
        from tests.ops.new_op.missing import missing
    except ModuleNotFoundError as error:
        return str(error)
    found = missing("atan")
    if name == NOTHING and not found:
        check_abilities("atan", "Atan", "atanf")
    return "; ".join(found)


def main() -> None:
    """Print what is said in each case."""
    with get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        said = pool.map(said_of, LEFT_OUT, chunksize=1)
    print(json.dumps(dict(zip(LEFT_OUT, said, strict=True))))


if __name__ == "__main__":
    main()
