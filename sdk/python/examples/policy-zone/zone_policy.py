"""Health policy that answers unknown while a whole failure domain is silent.

Then the zone, its network, or the API server's view of the Machines is broken, and replacing the Machines would make it
worse. The default rule judges Machines of other domains.
"""

import json
from dataclasses import dataclass

from machinist_sdk.policy import (
    LONG_MS,
    About,
    Action,
    Domain,
    Log,
    Policy,
    Question,
    Settings,
    Verdict,
    healthy,
    sickness,
    unhealthy,
    unknown,
)

_MOST_MACHINES = 2**32 - 1

_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "silentPercent": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "default": 50,
            "description": "From this share of silent Machines on, a failure domain is silent",
        },
        "leastMachines": {
            "type": "integer",
            "minimum": 2,
            "default": 3,
            "description": "Domains with fewer Machines are never silent",
        },
        "recheckSeconds": {
            "type": "integer",
            "minimum": 1,
            "maximum": 3600,
            "default": 30,
            "description": "How soon a silent domain is looked at again",
        },
    },
}


@dataclass(frozen=True)
class ZoneSettings:
    """The operator's settings."""

    # The share of silent Machines from which a domain is silent.
    silent_percent: int
    # Smaller domains never count as silent: one of two is half of them.
    least_machines: int
    # The time until the next check of a silent domain.
    recheck_seconds: int

    @staticmethod
    def read(text: str) -> "ZoneSettings":
        fields = Settings(text)
        settings = ZoneSettings(
            silent_percent=fields.whole("silentPercent", default=50, least=1, most=100),
            least_machines=fields.whole("leastMachines", default=3, least=2, most=_MOST_MACHINES),
            recheck_seconds=fields.whole("recheckSeconds", default=30, least=1, most=3_600),
        )
        fields.done()
        return settings


class ZonePolicy(Policy):
    """Answers unknown in silent domains."""

    def describe(self) -> About:
        return About(name="zone", version="0.1.0", settings_schema=json.dumps(_SCHEMA))

    def check_settings(self, settings: str) -> None:
        ZoneSettings.read(settings)

    def evaluate(self, question: Question, settings: str, now: int, log: Log) -> Verdict:
        limits = ZoneSettings.read(settings)
        sick = sickness(question, question.machine.must_be_false, now)
        if sick is None:
            return healthy("the Node is ready", holds_until=now + LONG_MS)
        holds_until = now + limits.recheck_seconds * 1_000
        if _is_silent(question.domain, limits):
            # The text has no numbers that change with each Node.
            place = _place(question.domain)
            reason = f"at least {limits.silent_percent} % of the Machines in {place} are silent: held until that is over"
            return unknown(reason, holds_until=holds_until)
        return unhealthy(sick.because, since=sick.since, action=Action.REPLACE, holds_until=holds_until)


def _is_silent(domain: Domain, limits: ZoneSettings) -> bool:
    is_large = domain.machines >= limits.least_machines
    return is_large and domain.silent * 100 >= limits.silent_percent * domain.machines


def _place(domain: Domain) -> str:
    return "an unknown failure domain" if domain.name is None else f"failure domain {domain.name}"
