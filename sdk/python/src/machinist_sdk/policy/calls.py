"""The calls of the host, as an author's policy answers them: the same in a component and in a native test."""

from collections.abc import Callable

from machinist_policy.imports import types as contract
from machinist_sdk.blame import blame
from machinist_sdk.log import Log
from machinist_sdk.policy.base import Policy
from machinist_sdk.policy.settings import SettingsError
from machinist_sdk.policy.types import unknown
from machinist_sdk.shape import Misshapen, check

# The time until the host calls a broken policy again about the same Machine.
BROKEN_MS = 60_000


class Calls:
    """A policy, and its log."""

    def __init__(self, policy: Callable[[], Policy], log: Log) -> None:
        self._policy = policy
        self._log = log

    def describe(self) -> contract.About:
        about = self._policy().describe()
        check(about, contract.About, "describe's answer")
        return about

    def check_settings(self, settings: str) -> None:
        """Raises `SettingsError` and nothing else."""
        try:
            self._policy().check_settings(settings)
        except SettingsError:
            raise
        except BaseException as error:  # Also `SystemExit`: no exception of the author ends in a trap.
            raise SettingsError(f"check_settings broke: {blame(error)}") from error

    def evaluate(self, question: contract.Question, settings: str, now: int) -> contract.Verdict:
        """Answers unknown for a policy that breaks, with the reason."""
        try:
            verdict = self._policy().evaluate(question, settings, now, self._log)
            check(verdict, contract.Verdict, "evaluate's answer")
            return verdict
        except SettingsError as error:
            # The host calls only with settings that it has checked.
            return unknown(f"the settings are wrong: {error}", holds_until=now)
        except Misshapen as error:
            return unknown(f"the policy broke: {error}", holds_until=now + BROKEN_MS)
        except BaseException as error:  # As above.
            self._log.error("the policy raised an exception", exception=blame(error))
            return unknown(f"the policy broke: {blame(error)}", holds_until=now + BROKEN_MS)
