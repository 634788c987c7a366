"""What passes did to a graph, and what they refused."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class RewriteLog:
    """What each rule did, in order, and what it refused.

    Attributes:
        applied: pairs of rule and node, in order.
        refused: (rule, node) -> reason.
        reasons: (rule, node) -> why it was applied, where that does not show.

    """

    applied: list[tuple[str, str]] = field(default_factory=list)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)

    def note(self, rule: str, node: str, reason: str) -> None:
        """Add what a rule did at a node, and why."""
        self.applied.append((rule, node))
        self.reasons[rule, node] = reason

    def final_refusals(self) -> dict[tuple[str, str], str]:
        """(rule, node) -> reason, without those where the rule applied later on."""
        applied = set(self.applied)
        return {key: reason for key, reason in self.refused.items() if key not in applied}
