"""The cloud's error codes as codes of the contract."""

from dataclasses import dataclass

from machinist_sdk.driver import Attempt, Code, Failure, HttpAnswer
from machinist_sdk.text import NotJson, read_json

NOT_FOUND = "not_found"
CAPACITY_EXHAUSTED = "capacity_exhausted"
IDEMPOTENCY_MISMATCH = "idempotency_mismatch"


@dataclass(frozen=True)
class _Meaning:
    code: Code
    # True if only another class, Secret or Machine helps.
    terminal: bool = False
    # Advice for a person, if the cloud's own message gives none.
    advice: str = ""


_MEANINGS = {
    "invalid_parameter": _Meaning(Code.INVALID_ARGUMENT, terminal=True),
    "image_not_found": _Meaning(
        Code.INVALID_ARGUMENT, terminal=True, advice=": correct image in the MachineClass's providerSpec"
    ),
    "unauthorized": _Meaning(
        Code.UNAUTHENTICATED, terminal=True, advice=": correct token in the MachineClass's Secret"
    ),
    "forbidden": _Meaning(Code.PERMISSION_DENIED, advice=": the token needs the right to change things"),
    "quota_exceeded": _Meaning(Code.RESOURCE_EXHAUSTED, advice=": raise the account's quota or delete VMs"),
    NOT_FOUND: _Meaning(Code.NOT_FOUND),
    "conflict": _Meaning(Code.ABORTED),
    CAPACITY_EXHAUSTED: _Meaning(Code.RESOURCE_EXHAUSTED),
    IDEMPOTENCY_MISMATCH: _Meaning(Code.ABORTED),
    "idempotency_gone": _Meaning(
        Code.FAILED_PRECONDITION,
        terminal=True,
        advice=": the VM of this Machine was deleted or died, and a Machine gets one VM only; delete the Machine, and its "
        "MachineSet makes another",
    ),
    "throttled": _Meaning(Code.UNAVAILABLE),
    "internal": _Meaning(Code.UNAVAILABLE),
    "unavailable": _Meaning(Code.UNAVAILABLE),
}


def refusal(attempt: Attempt, answer: HttpAnswer) -> Failure | None:
    """Parses an answer with an error status. `None` if it is not in the API's form."""
    try:
        value = read_json(answer.body)
    except NotJson:
        return None
    name = value.get("code") if isinstance(value, dict) else None
    if not isinstance(name, str):
        return None
    message = value.get("message")
    text = message if isinstance(message, str) else "no message"
    known = _MEANINGS.get(name)
    if known is None:
        # An unknown code is classified by its status.
        return attempt.refused(answer, text, cloud_code=name)
    return attempt.refused(
        answer, text, cloud_code=name, code=known.code, terminal=known.terminal, advice=known.advice
    )
