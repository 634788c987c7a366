"""What tables show of costs on an emulated core, line by line."""

from dataclasses import replace
from types import SimpleNamespace

from tests.cli.screen import lines_of
from tinyrt.cli import emulation_tables
from tinyrt.emulate import Cycles, EmulationReport, OpCost, Ram, Sizes

COSTS = [OpCost(0, "conv2d", "n", 2000, 1500, 900), OpCost(1, "add", "m", 0, 500, None)]


def test_costs_stand_beside_those_of_a_peer():
    assert lines_of(emulation_tables.costs(COSTS)) == [
        "",
        " #  op       MACs  instructions    share  per MAC  TFLM  ratio",
        " ─────────────────────────────────────────────────────────────",
        " 0  conv2d  2,000         1,500  75.00 %   0.7500   900   1.67",
        " 1  add         0           500  25.00 %        -     -      -",
        "",
        "             TFLM: TFLM with CMSIS-NN on this core",
    ]


def test_costs_of_a_peer_need_not_be_known_of_the_first_op():
    shown = [line.split() for line in lines_of(emulation_tables.costs(COSTS[::-1]))]
    assert shown[3:5] == [
        ["1", "add", "0", "500", "25.00", "%", "-", "-", "-"],
        ["0", "conv2d", "2,000", "1,500", "75.00", "%", "0.7500", "900", "1.67"],
    ]


def test_costs_without_a_peer():
    assert lines_of(emulation_tables.costs([OpCost(0, "conv2d", "n", 2000, 0, None)])) == [
        "",
        " #  op       MACs  instructions  share  per MAC",
        " ──────────────────────────────────────────────",
        " 0  conv2d  2,000             0      -   0.0000",
        "",
    ]


def test_costs_with_cycles_have_their_ranges():
    costs = [replace(COSTS[0], cycles=Cycles(1600, 2000)), replace(COSTS[1], cycles=Cycles(7, 7))]
    costs.append(OpCost(2, "reshape", "r", 0, 0, None))
    assert lines_of(emulation_tables.costs(costs)) == [
        "",
        " #  op        MACs  instructions  per MAC          cycles",
        " ────────────────────────────────────────────────────────",
        " 0  conv2d   2,000         1,500   0.7500  1,600 to 2,000",
        " 1  add          0           500        -               7",
        " 2  reshape      0             0        -               -",
        "",
    ]


def test_models_of_one_image_stand_side_by_side():
    """Each figure of its own model; code, weights and static RAM are all of the image's."""
    sizes = Sizes(100, 20, 30, 4, 5000, 600, 7)
    first = EmulationReport(
        *("cortex-m4", "mps2-an386", 10, 1234, 1.5, sizes, Ram(800, 90, 96, 11)), True, {}
    )
    cut = SimpleNamespace(plan=SimpleNamespace(count=17))
    second = replace(
        first, instructions=4321, instructions_per_mac=2.5, ram=Ram(700, 80, 86, 11, 48)
    )
    second = replace(second, board=None, samples=3, bit_exact=None, float_error=2e-6, slices=cut)
    assert lines_of(emulation_tables.emulations({"words": first, "digits": second})) == [
        "",
        "                                              words                     digits",
        " ──────────────────────────────────────────────────────────────────────────────",
        "  core                       cortex-m4 (mps2-an386)   cortex-m4 (this machine)",
        "  samples                                        10                          3",
        "  bit-exact with the host                       yes                          -",
        "  greatest float error                            -                    2.0e-06",
        "  instructions per                            1,234                      4,321",
        "  inference",
        "  instructions per MAC                         1.50                       2.50",
        "  slices                                          -                         17",
        "  RAM, arena bytes                              800                        700",
        "  RAM, state bytes                                0                         48",
        "  RAM, stack bytes                               90                         80",
        "    at most, as compiled                         96                         86",
        "  image, code bytes                             154                        154",
        "  image, weight bytes                         5,000                      5,000",
        "  image, static RAM bytes                        11                         11",
        "",
    ]
