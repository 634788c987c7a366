"""Lifetimes, the arena plan, and an independent checker."""

from tinyrt.memory.arena import ArenaPlan, MemoryOptions, plan_memory, require_budget
from tinyrt.memory.check import check_plan
from tinyrt.memory.lifetimes import Buffer, buffers
from tinyrt.memory.order import schedule
from tinyrt.memory.regions import Region
from tinyrt.memory.streaming import plan_pushed, plan_segments, plan_streamed

__all__ = [
    "ArenaPlan",
    "Buffer",
    "MemoryOptions",
    "Region",
    "buffers",
    "check_plan",
    "plan_memory",
    "plan_pushed",
    "plan_segments",
    "plan_streamed",
    "require_budget",
    "schedule",
]
