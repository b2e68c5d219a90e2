"""Mistakes of an author become a failure that names the mistake, never a trap."""

from typing import Any
from unittest import TestCase

from machinist_sdk.driver import (
    About,
    Class,
    Code,
    Driver,
    Failure,
    Host,
    HttpRequest,
    NoAnswerReason,
    Page,
    Progress,
    Request,
    Vm,
    VmState,
)
from machinist_sdk.driver.calls import Calls
from machinist_sdk.policy import SettingsError
from machinist_sdk.policy.calls import BROKEN_MS
from machinist_sdk.testing import policy as policies
from machinist_sdk.testing.driver import MockHost, a_class, a_request

REQUEST = a_request(1, a_class({}))
VM = Vm("cloud:///1", "machine-1", VmState.RUNNING)


class Author(Driver):
    """Runs a function of the test in each call."""

    def act(self, host: Host) -> Any:
        raise NotImplementedError

    def describe(self, host: Host) -> About:
        return About("author", "1.0.0", ["author"])

    def validate_class(self, class_: Class, host: Host) -> Any:
        return self.act(host)

    def create(self, request: Request, host: Host) -> Any:
        return self.act(host)

    def delete(self, request: Request, host: Host) -> Any:
        return self.act(host)

    def get_status(self, request: Request, host: Host) -> Any:
        return self.act(host)

    def list_machines(self, class_: Class, cluster: str, token: str | None, host: Host) -> Any:
        return self.act(host)

    def get_volume_ids(self, volume_specs: Any, host: Host) -> Any:
        return self.act(host)


def author(act: Any, **of_host: Any) -> tuple[Calls, MockHost]:
    host = MockHost(**of_host)
    return host.driver(type("Author", (Author,), {"act": lambda self, host: act(host)})), host


class Mistakes(TestCase):
    def fails(self, code: Code, call: Any, *arguments: Any) -> Failure:
        with self.assertRaises(Failure) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        return caught.exception

    def test_an_exception_becomes_internal_with_its_text_and_place(self) -> None:
        def act(host: Host) -> None:
            raise KeyError("zone\n" + "x" * 1_000)

        driver, host = author(act)
        failure = self.fails(Code.INTERNAL, driver.create, REQUEST)
        self.assertIn("create broke: KeyError: 'zone", failure.message)
        self.assertRegex(failure.message, r"\(in act, test_calls.py line \d+\)$")
        self.assertTrue(failure.may_have_happened and len(failure.message) < 300)
        self.assertFalse(self.fails(Code.INTERNAL, driver.get_status, REQUEST).may_have_happened)
        self.assertEqual(host.messages(), ["the driver raised an exception"] * 2)

    def test_neither_an_exit_nor_endless_recursion_ends_the_component(self) -> None:
        def forever(host: Host) -> Any:
            return forever(host)

        for act in (lambda host: exit(1), forever):
            self.fails(Code.INTERNAL, author(act)[0].create, REQUEST)

    def test_an_answer_of_a_wrong_shape_is_named(self) -> None:
        table: list[tuple[str, Any, str]] = [
            ("get_status", None, "get_status's answer must be a Vm, got NoneType"),
            (
                "get_status",
                Vm("a", "b", "running"),  # type: ignore[arg-type]
                "get_status's answer.state must be a VmState, got str",
            ),
            (
                "get_status",
                Vm("a", None, VmState.RUNNING),  # type: ignore[arg-type]
                "get_status's answer.node_name must be a str, got NoneType",
            ),
            ("get_status", Vm("a\ud800", "b", VmState.RUNNING), "provider_id must be Unicode text"),
            (
                "get_status",
                Vm("a", "b", VmState.RUNNING, addresses=[("a", "b")]),  # type: ignore[list-item]
                "addresses[0] must be a Address",
            ),
            ("create", "vm-1", "create's answer must be Vm or Progress, got str"),
            ("create", Progress("token", -1, "waiting"), "create's answer.ask_again_ms must be a whole number"),
            ("create", Progress("token", True, "waiting"), "create's answer.ask_again_ms must be a whole number"),
            ("delete", 7, "delete's answer must be a Progress, got int"),
            (
                "list_machines",
                Page(machines=(1,)),  # type: ignore[arg-type]
                "list_machines's answer.machines must be a list",
            ),
            ("get_volume_ids", [], "one entry for each of 1 specs"),
            ("validate_class", "warning", "validate_class's answer must be a list"),
        ]
        for call, answer, message in table:
            driver, _ = author(lambda host, answer=answer: answer)
            arguments: list[Any] = {"list_machines": [REQUEST.class_, "c1", None], "validate_class": [REQUEST.class_]}.get(call, [REQUEST])
            arguments = [["{}"]] if call == "get_volume_ids" else arguments
            self.assertIn(message, self.fails(Code.INTERNAL, getattr(driver, call), *arguments).message)

    def test_right_answers_pass(self) -> None:
        waiting = Progress("token", 1_000, "waiting")
        for call, answer in [("create", VM), ("create", waiting), ("delete", None), ("delete", "state"), ("delete", waiting)]:
            driver, _ = author(lambda host, answer=answer: answer)
            self.assertIs(getattr(driver, call)(REQUEST), answer)

    def test_a_failure_that_the_host_could_not_take_is_named(self) -> None:
        def act(host: Host) -> None:
            raise Failure(Code.ABORTED, "half \ud800", retry_after_ms=1)

        self.assertIn("Failure of create.message", self.fails(Code.INTERNAL, author(act)[0].create, REQUEST).message)

    def test_a_request_without_an_answer_needs_no_words_of_the_author(self) -> None:
        ask = lambda host: host.send(HttpRequest("POST", "http://cloud.test/v1"))  # noqa: E731
        failure = self.fails(Code.DEADLINE_EXCEEDED, author(ask, cloud=[NoAnswerReason.TIMED_OUT])[0].create, REQUEST)
        self.assertEqual((failure.may_have_happened, failure.message), (True, "failed to create: no answer of cloud.test in time"))
        driver, _ = author(ask, cloud=[NoAnswerReason.CONNECTION_REFUSED])
        self.assertFalse(self.fails(Code.UNAVAILABLE, driver.create, REQUEST).may_have_happened)

    def test_calls_that_are_not_offered_say_so(self) -> None:
        driver, _ = author(lambda host: None)
        for call in (driver.initialize, driver.reboot):
            self.fails(Code.UNIMPLEMENTED, call, REQUEST)

    def test_offline_calls_say_that_they_are(self) -> None:
        tries = [
            lambda host: host.secrets.keys(),
            lambda host: host.secrets.user_data(),
            lambda host: host.send(HttpRequest("GET", "http://cloud.test/")),
        ]
        for act in tries:
            driver, host = author(act, secrets={"token": b"value"}, user_data=b"data")
            for call, argument in ((driver.validate_class, REQUEST.class_), (driver.get_volume_ids, ["{}"])):
                self.assertIn("neither secrets nor network", self.fails(Code.INTERNAL, call, argument).message)
            self.assertEqual(host.sent, [])

    def test_describe_has_no_way_to_fail(self) -> None:
        driver = MockHost().driver(type("Mute", (Author,), {"describe": lambda self, host: host.secrets}))
        with self.assertRaisesRegex(Failure, "describe has neither secrets nor network"):
            driver.describe()


class Broken(policies.Policy):
    def describe(self) -> Any:
        return policies.Policy.describe(self)

    def check_settings(self, settings: str) -> None:
        raise ZeroDivisionError("by zero")

    def evaluate(self, question: Any, settings: str, now: int, log: Any) -> Any:
        if settings == "unexpected":
            return "well"
        if settings == "unread":
            raise SettingsError("x is no setting")
        raise SystemExit(3)


class BrokenPolicies(TestCase):
    def test_a_policy_that_breaks_does_not_know_and_says_why(self) -> None:
        host = policies.MockHost()
        policy = host.policy(Broken)
        table = [("", "the policy broke: SystemExit: 3 (in evaluate, test_calls.py"), ("unexpected", "must be a Verdict, got str")]
        for settings, reason in table:
            verdict = policy.evaluate(policies.a_question(), settings, 1_000)
            self.assertIn(reason, verdict.reason)
            self.assertEqual((type(verdict.health).__name__, verdict.holds_until), ("Health_Unknown", 1_000 + BROKEN_MS))
        self.assertEqual([message for _, message, _ in host.lines], ["the policy raised an exception"])
        verdict = policy.evaluate(policies.a_question(), "unread", 1_000)
        self.assertEqual((verdict.reason, verdict.holds_until), ("the settings are wrong: x is no setting", 1_000))

    def test_settings_that_break_the_check_are_refused(self) -> None:
        with self.assertRaisesRegex(SettingsError, "check_settings broke: ZeroDivisionError: by zero"):
            policies.MockHost().policy(Broken).check_settings("{}")
