"""Health policies: implement `Policy`, and build it with `python -m machinist_sdk.build MODULE:CLASS`."""

from machinist_sdk.log import Level, Log
from machinist_sdk.policy.base import Policy
from machinist_sdk.policy.rule import READY, Sickness, sickness
from machinist_sdk.policy.settings import Settings, SettingsError
from machinist_sdk.policy.types import (
    LONG_MS,
    About,
    Action,
    Condition,
    Domain,
    History,
    Machine,
    Node,
    Phase,
    Question,
    Status,
    Verdict,
    healthy,
    unhealthy,
    unknown,
)

__all__ = [
    "LONG_MS",
    "READY",
    "About",
    "Action",
    "Condition",
    "Domain",
    "History",
    "Level",
    "Log",
    "Machine",
    "Node",
    "Phase",
    "Policy",
    "Question",
    "Settings",
    "SettingsError",
    "Sickness",
    "Status",
    "Verdict",
    "healthy",
    "sickness",
    "unhealthy",
    "unknown",
]
