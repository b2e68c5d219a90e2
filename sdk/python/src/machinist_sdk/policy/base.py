"""What an author implements."""

from abc import ABC, abstractmethod

from machinist_sdk.log import Log
from machinist_sdk.policy.types import About, Question, Verdict


class Policy(ABC):
    """A health policy. Made anew for each call without arguments; the same arguments give the same answer."""

    @abstractmethod
    def describe(self) -> About:
        """Who this is. Must not fail."""

    @abstractmethod
    def check_settings(self, settings: str) -> None:
        """Checks what the operator wrote: a JSON object, `{}` when there is nothing. Raises `SettingsError`.

        Must accept all settings that `evaluate` can work with.
        """

    @abstractmethod
    def evaluate(self, question: Question, settings: str, now: int, log: Log) -> Verdict:
        """What to think of this Machine. The reason must have the same text for the same state of things."""
