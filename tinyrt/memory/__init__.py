"""Lifetimes, the arena plan, and an independent checker."""

from tinyrt.memory.arena import plan_memory
from tinyrt.memory.check.plan import check_plan
from tinyrt.memory.lifetimes import Buffer, buffers
from tinyrt.memory.order import schedule
from tinyrt.memory.plan import ArenaPlan, MemoryOptions, require_budget
from tinyrt.memory.regions import Region
from tinyrt.memory.rows.plan import plan_by_rows, plan_pushed, plan_segments

__all__ = [
    "ArenaPlan",
    "Buffer",
    "MemoryOptions",
    "Region",
    "buffers",
    "check_plan",
    "plan_by_rows",
    "plan_memory",
    "plan_pushed",
    "plan_segments",
    "require_budget",
    "schedule",
]
