"""Two regions, and which buffers go to the fast one."""

from tinyrt.memory.regions import Region

FAST, SLOW = 0, 1

MOST_USED = [
    ((100, 40), (200, 120), 100, [SLOW, FAST]),
    ((100, 40), (200, 60), 100, [FAST, SLOW]),
    ((100, 40), (200, 120), 140, [FAST, FAST]),
    ((100, 40), (200, 120), 139, [SLOW, FAST]),
    ((100, 40), (200, 120), 36, [SLOW, SLOW]),
    ((100, 40), (300, 1), 40, [SLOW, FAST]),
    ((40, 40, 40), (1, 1, 1), 80, [FAST, FAST, SLOW]),
    ((40, 40, 40), (1, 3, 2), 80, [SLOW, FAST, FAST]),
]
"""Buffers' sizes, their traffic, bytes of the fast region, the region of each buffer."""


def two(fast, slow=None):
    return Region("fast", fast), Region("slow", slow)
