"""What the steps of front ends, and decisions behind a network, cost on a core, by formula.

Each step has a few terms, 1 and sizes of what is computed, and a core a constant for each term.
They are read off what QEMU counts for some sizes (``tests/dsp/fit_costs.py``), and hold for others.
Where branches follow the data, docs/dsp.md says how far.
"""

from __future__ import annotations

from tinyrt.dsp.anomaly import AnomalyNumbers
from tinyrt.dsp.boxes import Boxes
from tinyrt.dsp.camera import Camera
from tinyrt.dsp.camera_terms import camera_terms
from tinyrt.dsp.checks import require
from tinyrt.dsp.cost_table import AT_ONCE, CONSTANTS, MET, MOST, VECTORS
from tinyrt.dsp.decision_terms import decision_terms
from tinyrt.dsp.detector import Detector
from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.motion import Motion
from tinyrt.dsp.motion_terms import motion_terms
from tinyrt.dsp.sound_terms import sound_terms
from tinyrt.dsp.top_k import TopK
from tinyrt.dsp.transform_terms import Terms


def step_costs(front: LogMel | Motion | Camera, core: str) -> dict[str, int]:
    """Step -> instructions of a row of features, those that the front end has; or of a frame.

    Args:
        front: what is computed.
        core: a core in ``CONSTANTS``.

    Raises:
        DataError: there are no constants for the core, or those of the front end overflow.

    """
    return _costs(front_terms(front, has_vectors=core in VECTORS), core)


def decision_costs(decision: Detector | TopK | Boxes | AnomalyNumbers, core: str) -> dict[str, int]:
    """What happens -> instructions of a call. The last one is the most that any data take.

    Args:
        decision: what is decided.
        core: a core in ``CONSTANTS``.

    Raises:
        DataError: there are no constants for the core.

    """
    return _costs(decision_terms(decision, at_once=AT_ONCE.get(core, 1)), core)


def front_terms(front: LogMel | Motion | Camera, *, has_vectors: bool) -> dict[str, Terms]:
    """Step -> what its constants are times.

    Raises:
        DataError: the constants of the front end overflow.

    """
    match front:
        case Motion():
            return motion_terms(front, has_vectors=has_vectors)
        case Camera():
            return camera_terms(front, has_vectors=has_vectors)
        case _:
            return sound_terms(front, has_vectors=has_vectors)


def _costs(terms: dict[str, Terms], core: str) -> dict[str, int]:
    require(core in CONSTANTS, "core", core, " ".join(CONSTANTS))
    constants = CONSTANTS[core] | {MOST: CONSTANTS[core][MET]}
    return {
        step: round(sum(n * c for n, c in zip(numbers, constants[step], strict=True)))
        for step, numbers in terms.items()
    }
