"""Workers that are done in another order than they began, as those of a cluster may be."""

from __future__ import annotations

import pickle
from typing import Any

from tinyrt.cluster.tasks import attempted


class Crowd:
    """Three workers; the one that began last is done first.

    Attributes:
        shared: what they were sent.
        most: so many tasks were under way at the same time.

    """

    slots = 3

    def __init__(self, shared: Any) -> None:
        self.shared = pickle.loads(pickle.dumps(shared))
        self.under_way: dict[Any, Any] = {}
        self.most = 0

    def begin(self, owner: Any, task: Any) -> None:
        self.under_way[owner] = pickle.loads(pickle.dumps(task.arguments)), task
        self.most = max(self.most, len(self.under_way))

    def finished(self) -> tuple[Any, Any]:
        owner = max(self.under_way)
        arguments, task = self.under_way.pop(owner)
        found = attempted(task.work, *arguments, self.shared)
        return owner, pickle.loads(pickle.dumps(found))
