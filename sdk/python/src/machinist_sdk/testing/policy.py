"""A healthy Machine for tests to change, and a policy's calls as the host makes them."""

from dataclasses import dataclass, field

from machinist_sdk.log import Level, Log
from machinist_sdk.policy.base import Policy
from machinist_sdk.policy.calls import Calls
from machinist_sdk.policy.types import Condition, Domain, History, Machine, Node, Phase, Question, Status


@dataclass
class MockHost:
    """Hosts the calls of a policy, and keeps its log."""

    lines: list[tuple[Level, str, list[tuple[str, str]]]] = field(default_factory=list)

    def policy(self, policy: type[Policy]) -> Calls:
        """Returns the policy's calls, as the component makes them."""
        return Calls(policy, Log(lambda level, message, fields: self.lines.append((level, message, fields))))


def a_condition(kind: str, status: Status, since: int | None = 0) -> Condition:
    """Returns a condition with its status since this time."""
    return Condition(kind=kind, status=status, reason="Test", message="", since=since)


def a_question() -> Question:
    """Returns a question about a Running Machine with a healthy Node, alone in its zone."""
    return Question(
        machine=Machine(
            namespace="shoot",
            name="machine-1",
            uid="uid-1",
            class_="small",
            deployment=None,
            labels=[],
            provider_id="cloud:///vm-1",
            created=0,
            health_timeout_ms=600_000,
            must_be_false=["DiskPressure"],
            can_reboot=True,
        ),
        node=Node(
            name="node-1", created=0, labels=[], unschedulable=False, conditions=[a_condition("Ready", Status.TRUE)]
        ),
        history=History(phase=Phase.RUNNING, phase_since=0, reboots=[]),
        domain=Domain(name="zone-a", machines=1, silent=0),
    )
