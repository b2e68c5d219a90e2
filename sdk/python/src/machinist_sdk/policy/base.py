"""The class that the author of a policy extends."""

from abc import ABC, abstractmethod

from machinist_sdk.log import Log
from machinist_sdk.policy.types import About, Question, Verdict


class Policy(ABC):
    """A health policy. The SDK creates it for each call without arguments; the same arguments give the same answer."""

    @abstractmethod
    def describe(self) -> About:
        """Describes the policy. Must not fail."""

    @abstractmethod
    def check_settings(self, settings: str) -> None:
        """Checks the operator's settings: a JSON object, `{}` if there are none. Raises `SettingsError`.

        Must accept all settings with which `evaluate` can work.
        """

    @abstractmethod
    def evaluate(self, question: Question, settings: str, now: int, log: Log) -> Verdict:
        """Judges the Machine. Return the same reason for the same state."""
