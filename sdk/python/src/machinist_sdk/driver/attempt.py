"""Failed requests as failures of a call."""

from dataclasses import dataclass
from typing import Any

from machinist_sdk.driver.failure import Failure
from machinist_sdk.driver.http import HttpAnswer
from machinist_sdk.driver.no_answer import NoAnswer
from machinist_sdk.driver.types import Code
from machinist_sdk.text import NotJson, quoted, read_json

_BY_STATUS = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.NOT_FOUND,
    408: Code.DEADLINE_EXCEEDED,
    409: Code.ABORTED,
    410: Code.FAILED_PRECONDITION,
    412: Code.FAILED_PRECONDITION,
    413: Code.INVALID_ARGUMENT,
    422: Code.INVALID_ARGUMENT,
    429: Code.UNAVAILABLE,
    504: Code.DEADLINE_EXCEEDED,
}


def code_of_status(status: int) -> Code:
    """Returns the code for an error of which only the status is known."""
    return _BY_STATUS.get(status, Code.UNAVAILABLE if 500 <= status <= 599 else Code.UNKNOWN)


@dataclass(frozen=True)
class Attempt:
    """One request to the cloud, with the facts that its errors need. `doing` follows "failed to" in messages."""

    doing: str
    # The host that receives the request.
    host: str
    # True if the request changes the cloud. A request that only reads cannot have happened.
    changes: bool

    def refused(
        self,
        answer: HttpAnswer,
        message: str,
        *,
        cloud_code: str | None = None,
        code: Code | None = None,
        terminal: bool = False,
        advice: str = "",
    ) -> Failure:
        """Returns the failure for a refusal in the cloud's own form. Without a `code` the status decides."""
        name = f" ({quoted(cloud_code)})" if cloud_code else ""
        return Failure(
            code or code_of_status(answer.status),
            f"failed to {self.doing}: {quoted(message)}{name}{advice}",
            cloud_code=quoted(cloud_code) if cloud_code else None,
            retry_after_ms=answer.retry_after_ms,
            terminal=terminal,
            may_have_happened=self.changes and answer.status >= 500,
        )

    def no_answer(self, error: NoAnswer) -> Failure:
        """Returns the failure for a request without an answer."""
        return Failure(
            error.reason.code,
            f"failed to {self.doing}: {error.explanation}",
            may_have_happened=self.changes and error.reason.may_have_been_sent,
        )

    def foreign(self, answer: HttpAnswer, what: str) -> Failure:
        """Returns the failure for an answer that is not the cloud's own: a proxy's page, or half an answer."""
        return Failure(
            Code.UNAVAILABLE,
            f"failed to {self.doing}: {self.host} answered {what} with status {answer.status}: look at what is in between",
            retry_after_ms=answer.retry_after_ms,
            may_have_happened=self.changes,
        )

    def unexpected(self, what: str) -> Failure:
        """Returns the failure for a complete answer that violates the API."""
        message = f"failed to {self.doing}: the answer of {self.host} {what}"
        return Failure(Code.INTERNAL, message, may_have_happened=self.changes)

    def json(self, answer: HttpAnswer) -> Any:
        """Parses the body of a success."""
        try:
            return read_json(answer.body)
        except NotJson as error:
            if error.is_cut_off:
                raise self.foreign(answer, "with half of an answer") from None
            raise self.unexpected("is not JSON") from None
