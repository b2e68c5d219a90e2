"""Cloud drivers: implement `Driver`, and build it with `python -m machinist_sdk.build MODULE:CLASS`."""

from machinist_provider.imports.secrets import Encoding, Refusal
from machinist_sdk.driver import auth
from machinist_sdk.driver.attempt import Attempt, code_of_status
from machinist_sdk.driver.base import Driver
from machinist_sdk.driver.failure import Failure, invalid, not_found, unimplemented
from machinist_sdk.driver.host import Host, Secret, SecretRefused, Secrets
from machinist_sdk.driver.http import HttpAnswer, HttpRequest, Limits, escaped
from machinist_sdk.driver.no_answer import NoAnswer, NoAnswerReason
from machinist_sdk.driver.types import (
    About,
    Address,
    Capabilities,
    Class,
    Code,
    Condition,
    Listed,
    Machine,
    NodeResources,
    Page,
    Progress,
    Request,
    Vm,
    VmState,
)
from machinist_sdk.log import Level, Log

__all__ = [
    "About",
    "Address",
    "Attempt",
    "Capabilities",
    "Class",
    "Code",
    "Condition",
    "Driver",
    "Encoding",
    "Failure",
    "Host",
    "HttpAnswer",
    "HttpRequest",
    "Level",
    "Limits",
    "Listed",
    "Log",
    "Machine",
    "NoAnswer",
    "NoAnswerReason",
    "NodeResources",
    "Page",
    "Progress",
    "Refusal",
    "Request",
    "Secret",
    "SecretRefused",
    "Secrets",
    "Vm",
    "VmState",
    "auth",
    "code_of_status",
    "escaped",
    "invalid",
    "not_found",
    "unimplemented",
]
