"""The standard rule: `Ready` is True, and no condition on the list has another status than False."""

from collections.abc import Collection
from dataclasses import dataclass

from machinist_sdk.policy.types import Condition, Question, Status

# The condition by which a kubelet reports that its Node accepts pods.
READY = "Ready"

_NAMES = {Status.TRUE: "True", Status.FALSE: "False", Status.UNKNOWN: "Unknown"}


@dataclass(frozen=True)
class Sickness:
    """The reason why a Node is unhealthy."""

    # One text for one state: causes sorted, no times.
    because: str
    # The time of the earliest cause.
    since: int


def sickness(question: Question, must_be_false: Collection[str], now: int) -> Sickness | None:
    """Returns the problem of a Node. `None` if the Node is healthy.

    A missing `Ready` is unhealthy: such a Node has not shown that it works.
    """
    phase_since = now if question.history.phase_since is None else question.history.phase_since
    node = question.node
    if node is None:
        return Sickness("the Node is gone", phase_since)
    against = [condition for condition in node.conditions if _speaks_against(condition, must_be_false)]
    causes = {f"{condition.kind} is {_NAMES[condition.status]}" for condition in against}
    times = [phase_since if condition.since is None else condition.since for condition in against]
    if not any(condition.kind == READY for condition in node.conditions):
        causes.add(f"{READY} is missing")
        times.append(phase_since if node.created is None else node.created)
    return Sickness(", ".join(sorted(causes)), min(times)) if causes else None


def _speaks_against(condition: Condition, must_be_false: Collection[str]) -> bool:
    is_not_ready = condition.kind == READY and condition.status is not Status.TRUE
    return is_not_ready or (condition.status is not Status.FALSE and condition.kind in must_be_false)
