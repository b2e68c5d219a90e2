"""The export of a policy's component. `python -m machinist_sdk.build` writes the module that calls `exports`."""

from componentize_py_types import Err
from machinist_policy.imports import log as host_log
from machinist_policy.imports import types as contract
from machinist_sdk.log import Level, Log
from machinist_sdk.policy.base import Policy
from machinist_sdk.policy.calls import Calls
from machinist_sdk.policy.settings import SettingsError

_LEVELS = {level: host_log.Level[level.name] for level in Level}


def exports(policy: type[Policy]) -> type:
    """Returns the world's class `Policy`."""
    calls = Calls(policy, Log(_emit, lambda level: host_log.enabled(_LEVELS[level])))

    class Exported:
        def describe(self) -> contract.About:
            return calls.describe()

        def check_settings(self, settings: str) -> None:
            try:
                calls.check_settings(settings)
            except SettingsError as error:
                raise Err(str(error).encode(errors="replace").decode()) from error

        def evaluate(self, question: contract.Question, settings: str, now: int) -> contract.Verdict:
            return calls.evaluate(question, settings, now)

    return Exported


def _emit(level: Level, message: str, fields: list[tuple[str, str]]) -> None:
    host_log.emit(_LEVELS[level], message, fields)
