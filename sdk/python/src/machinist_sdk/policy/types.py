"""The contract's types: the generated ones, and a function for each verdict."""

from machinist_policy.imports.types import (
    About,
    Action,
    Condition,
    Domain,
    Health_Healthy,
    Health_Unhealthy,
    Health_Unknown,
    History,
    Machine,
    Node,
    Phase,
    Question,
    Status,
    Verdict,
)

__all__ = [
    "LONG_MS",
    "About",
    "Action",
    "Condition",
    "Domain",
    "History",
    "Machine",
    "Node",
    "Phase",
    "Question",
    "Status",
    "Verdict",
    "healthy",
    "unhealthy",
    "unknown",
]

# The longest time for a verdict: only another question changes it.
LONG_MS = 12 * 60 * 60 * 1_000


def healthy(reason: str, *, holds_until: int) -> Verdict:
    """Says that the Machine is healthy."""
    return Verdict(Health_Healthy(), reason, Action.NONE, holds_until)


def unhealthy(reason: str, *, since: int, action: Action, holds_until: int) -> Verdict:
    """Says that the Machine is unhealthy, since when, and the action."""
    return Verdict(Health_Unhealthy(since), reason, action, holds_until)


def unknown(reason: str, *, holds_until: int) -> Verdict:
    """Says that the health is unknown: the Machine keeps its phase."""
    return Verdict(Health_Unknown(), reason, Action.NONE, holds_until)
