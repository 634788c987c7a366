"""What tables show of costs on an emulated core, line by line."""

from dataclasses import replace

from tests.cli.screen import lines_of
from tinyrt.cli import emulation_tables
from tinyrt.emulate import Cycles, OpCost

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
