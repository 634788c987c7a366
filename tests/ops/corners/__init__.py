"""Cases that lie on the ends of what ops take, by tables: nothing in them is drawn by chance.

Random cases seldom meet a tie, the last vector of a row or a sum of extremes only; these always do.
A family is a dictionary, name -> graph of one op with its data; a name begins with the op's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.ops.build import Built
from tests.ops.corners.elementwise import elementwise
from tests.ops.corners.floats import floats
from tests.ops.corners.layers import int4_layers, layers
from tests.ops.corners.legacy import legacy
from tests.ops.corners.moving import moving
from tests.ops.corners.near import near
from tests.ops.corners.reducing import reducing
from tests.ops.corners.wide import wide

FAMILIES: Mapping[str, Callable[[], dict[str, Built]]] = {
    "elementwise": elementwise,
    "layers": layers,
    "int4 layers": int4_layers,
    "moving": moving,
    "reducing": reducing,
    "wide": wide,
    "legacy": legacy,
    "near": near,
    "floats": floats,
}
"""Family -> what makes its cases. All but the last are of integers."""


def integer_corners() -> dict[str, Built]:
    """The cases of all families of integers."""
    made = [cases() for name, cases in FAMILIES.items() if name != "floats"]
    return {name: built for cases in made for name, built in cases.items()}


def thinned(cases: Mapping[str, Built], step: int) -> dict[str, Built]:
    """Every so many-th case, and the first one of each op."""
    first = {name.split(":")[0]: name for name in reversed(cases)}
    kept = {*[*cases][::step], *first.values()}
    return {name: built for name, built in cases.items() if name in kept}
