"""The nouns of the contract: the generated types, and verdicts in one word each."""

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

# A verdict that nothing but another question changes holds as long as the host lets it.
LONG_MS = 12 * 60 * 60 * 1_000


def healthy(reason: str, *, holds_until: int) -> Verdict:
    """The Machine is well."""
    return Verdict(Health_Healthy(), reason, Action.NONE, holds_until)


def unhealthy(reason: str, *, since: int, action: Action, holds_until: int) -> Verdict:
    """The Machine is not well, since when, and what to do."""
    return Verdict(Health_Unhealthy(since), reason, action, holds_until)


def unknown(reason: str, *, holds_until: int) -> Verdict:
    """Not to be told: nothing is done to the Machine, and it keeps its phase."""
    return Verdict(Health_Unknown(), reason, Action.NONE, holds_until)
