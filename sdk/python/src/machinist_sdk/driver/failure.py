"""Failures of calls."""


from machinist_provider.imports import machinist_provider_types as contract
from machinist_provider.imports.machinist_provider_types import Code


class Failure(Exception):
    """The answer of a failed call. The host decides by `code` when to retry; `message` is for people.

    `terminal`: no retry helps until class, Secret or Machine change. `may_have_happened`: the cloud may have done the
    work, so the host checks before it calls again. The message must not hold a secret, user data or a complete answer
    of the cloud.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        cloud_code: str | None = None,
        retry_after_ms: int | None = None,
        terminal: bool = False,
        may_have_happened: bool = False,
        last_known_state: str | None = None,
        provider_id: str | None = None,
        node_name: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.cloud_code = cloud_code
        self.retry_after_ms = retry_after_ms
        self.terminal = terminal
        self.may_have_happened = may_have_happened
        self.last_known_state = last_known_state
        self.provider_id = provider_id
        self.node_name = node_name

    def record(self) -> contract.DriverError:
        """Returns the contract's record."""
        return contract.DriverError(
            code=self.code,
            message=self.message,
            cloud_code=self.cloud_code,
            retry_after_ms=self.retry_after_ms,
            terminal=self.terminal,
            may_have_happened=self.may_have_happened,
            last_known_state=self.last_known_state,
            provider_id=self.provider_id,
            node_name=self.node_name,
        )

    def __repr__(self) -> str:
        return f"Failure({self.code.name}, {self.message!r})"


def invalid(message: str) -> Failure:
    """The class or the machine can never work."""
    return Failure(Code.INVALID_ARGUMENT, message, terminal=True)


def not_found(message: str) -> Failure:
    """The machine does not exist in the cloud."""
    return Failure(Code.NOT_FOUND, message)


def unimplemented(call: str) -> Failure:
    """This driver does not offer the call."""
    return Failure(Code.UNIMPLEMENTED, f"this driver does not offer {call}")
