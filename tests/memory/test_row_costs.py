"""What ops that run row by row are said to cost, beside what the emulator counted.

Counted were instructions of one inference and bytes of code, of the program that ``tinyrt export``
writes and, for what is added, less those of the program without segments. None: what is said is
further off.
"""

import pytest

from tests.memory.nets import gated_net, signal_net
from tests.memory.targets import kernels_for
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.memory import plan_by_rows, plan_pushed
from tinyrt.memory.rows.costs import added_code, added_instructions, whole_cost

M4, M55 = "cortex-m4", "cortex-m55"


def net_of(name, zoo):
    made = {"signals": signal_net, "gates": gated_net}
    if name in made:
        return made[name](0 if name == "signals" else 7)
    return read_tflite(zoo / "models" / f"{name}_int8.tflite")


@pytest.mark.parametrize(
    ("core", "name", "instructions", "code"),
    [
        (M4, "resnet8", 13_040_735, 6_256),
        (M4, "dscnn_kws", 3_624_845, 7_432),
        (M55, "resnet8", 2_178_579, 10_208),
        (M55, "dscnn_kws", 786_025, 11_888),
    ],
)
def test_a_program_of_convolutions_costs_about_what_is_said(zoo, core, name, instructions, code):
    cost = whole_cost(net_of(name, zoo), kernels_for(core))
    assert cost.instructions == pytest.approx(instructions, rel=0.06)
    assert cost.code == pytest.approx(code, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "name", "pushed", "instructions", "code"),
    [
        (M4, "gates", False, 2_350, 668),
        (M4, "gates", True, 3_092, 796),
        (M4, "signals", True, 30_717, None),
        (M4, "dscnn_kws", True, 104_186, None),
        (M55, "resnet8", False, 84_465, None),
        (M55, "resnet8", True, 62_881, None),
        (M55, "dscnn_kws", False, 541_151, None),
        (M55, "dscnn_kws", True, 246_612, None),
        (M55, "signals", False, 84_366, 556),
        (M55, "signals", True, 61_034, None),
        (M55, "gates", True, None, 612),
    ],
)
def test_segments_add_about_what_is_said(zoo, core, name, pushed, instructions, code):
    graph, kernels = net_of(name, zoo), kernels_for(core)
    plan = plan_pushed(graph, kernels) if pushed else plan_by_rows(graph, kernels, costly=True)
    if instructions is not None:
        said = added_instructions(graph, plan.segments, kernels)
        assert said == pytest.approx(instructions, rel=0.26)
    if code is not None:
        assert added_code(graph, plan.segments, kernels) == pytest.approx(code, rel=0.2)
