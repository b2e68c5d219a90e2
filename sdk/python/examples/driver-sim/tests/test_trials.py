"""The driver with a cloud that refuses, breaks and lies, and whose reads are stale."""

from collections.abc import Callable

from sim_driver import SimDriver

from machinist_sdk.driver import Code, HttpAnswer, NoAnswerReason
from machinist_sdk.testing.driver import MockHost, json_answer
from tests.fake_cloud import READ_TOKEN, TOKEN
from tests.fixture import PLACES, SETTINGS, WithCloud, request, spec, with_id

Answer = Callable[[], HttpAnswer]
_PAGE = HttpAnswer(502, {"content-type": "text/html"}, b"<html>bad gateway</html>")


def _done(answer: Answer, given: HttpAnswer | NoAnswerReason) -> HttpAnswer | NoAnswerReason:
    """The cloud does the work, and gives another answer."""
    answer()
    return given


def _cut(answer: Answer) -> HttpAnswer:
    whole = answer()
    return HttpAnswer(whole.status, whole.headers, whole.body[: len(whole.body) // 2])


class Trials(WithCloud):
    def test_an_outcome_that_nobody_knows_says_so_and_the_key_brings_the_vm_back(self) -> None:
        error = json_answer(500, {"code": "internal", "message": "because"})
        page_of_success = HttpAnswer(200, _PAGE.headers, _PAGE.body)
        table: list[tuple[Callable[[Answer], HttpAnswer | NoAnswerReason], Code]] = [
            (lambda answer: _done(answer, NoAnswerReason.TIMED_OUT), Code.DEADLINE_EXCEEDED),
            (lambda answer: _done(answer, error), Code.UNAVAILABLE),
            (lambda answer: _done(answer, NoAnswerReason.CUT_OFF), Code.UNAVAILABLE),
            (_cut, Code.UNAVAILABLE),
            (lambda answer: _done(answer, HttpAnswer(200, {}, b"\x00\xffgarbage")), Code.INTERNAL),
            (lambda answer: _done(answer, _PAGE), Code.UNAVAILABLE),
            (lambda answer: _done(answer, page_of_success), Code.UNAVAILABLE),
        ]
        for fault, code in table:
            self.setUp()
            self.cloud.fault("POST", "/v1/vms", fault)
            failure = self.fails(code, self.driver.create, request(1))
            self.assertEqual((failure.may_have_happened, failure.terminal), (True, False), failure.message)
            self.assertTrue("<" not in failure.message and len(failure.message) < 300, failure.message)
            self.assertEqual(len(self.cloud.live()), 1, failure.message)
            self.cloud.faults.clear()
            self.created(request(1))
            self.assertEqual(len(self.cloud.live()), 1, failure.message)

    def test_throttling_passes_the_clouds_own_pause_on(self) -> None:
        throttled = json_answer(429, {"code": "throttled", "message": "slow down"}, retry_after="7")
        self.cloud.fault("POST", "/v1/vms", lambda _: throttled)
        failure = self.fails(Code.UNAVAILABLE, self.driver.create, request(2))
        self.assertEqual((failure.retry_after_ms, failure.may_have_happened), (7_000, False))

    def test_credentials_that_are_missing_wrong_or_too_weak_are_distinguished(self) -> None:
        self.host.secrets = {"token": b"a-wrong-token"}
        self.assertTrue(self.fails(Code.UNAUTHENTICATED, self.driver.create, request(1)).terminal)
        self.fails(Code.UNAUTHENTICATED, self.driver.delete, request(1))
        self.host.secrets = {"token": READ_TOKEN.encode()}
        self.fails(Code.PERMISSION_DENIED, self.driver.create, request(1))
        self.host.secrets = {}
        self.assertIn("no key token", self.fails(Code.UNAUTHENTICATED, self.driver.create, request(1)).message)
        self.host.secrets = {"token": TOKEN.encode()}
        self.host.places = {}
        self.assertIn("grants", self.fails(Code.FAILED_PRECONDITION, self.driver.create, request(1)).message)

    def test_a_full_zone_leads_to_the_next_and_full_zones_to_exhaustion(self) -> None:
        asked = request(1, zones=("sim-1a", "sim-1b"))
        self.cloud.full_zones = {"sim-1a", "sim-1b"}
        failure = self.fails(Code.RESOURCE_EXHAUSTED, self.driver.create, asked)
        self.assertEqual(failure.cloud_code, "capacity_exhausted")
        self.assertTrue(failure.message.endswith("asked for in sim-1a, sim-1b"), failure.message)
        self.assertEqual(len(self.requests()), 2)

        self.cloud.full_zones = {"sim-1a"}
        vm = self.created(asked)
        self.assertEqual(vm.failure_domain, "sim-1b")
        # The first zone has room again, but the machine's VM is still the one in the second.
        self.cloud.full_zones = set()
        self.assertEqual(self.created(asked).provider_id, vm.provider_id)
        self.assertEqual(len(self.cloud.live()), 1)

    def test_a_key_used_with_another_class_means_the_vm_that_it_made(self) -> None:
        vm = self.created(request(1))
        self.requests()
        self.assertEqual(self.created(request(1, spec(type="sim.large"))).provider_id, vm.provider_id)
        self.assertEqual(self.requests(), ["POST /v1/vms", "GET /v1/vms"])
        self.assertEqual(len(self.cloud.live()), 1)

    def test_a_vm_that_reads_do_not_show_yet_is_waited_for(self) -> None:
        vm = self.created(request(1))
        self.cloud.hidden = set(self.cloud.vms)
        changed = request(1, spec(image="linux-2"))
        failure = self.fails(Code.ABORTED, self.driver.create, changed)
        self.assertEqual((failure.may_have_happened, failure.retry_after_ms), (True, 1_000))
        self.cloud.hidden = set()
        self.assertEqual(self.created(changed).provider_id, vm.provider_id)

    def test_a_look_that_fails_after_a_mismatch_does_not_hide_that_there_is_a_vm(self) -> None:
        self.created(request(1))
        self.cloud.fault("GET", "/v1/vms", lambda _: NoAnswerReason.CONNECTION_REFUSED)
        failure = self.fails(Code.UNAVAILABLE, self.driver.create, request(1, spec(image="linux-2")))
        self.assertTrue(failure.may_have_happened)

    def test_a_vm_that_reads_do_not_show_yet_is_deleted_by_its_id(self) -> None:
        vm = self.created(request(1))
        self.cloud.hidden = set(self.cloud.vms)
        self.driver.delete(with_id(request(1), vm.provider_id))
        self.assertEqual(self.cloud.live(), [])

    def test_a_key_whose_vm_is_gone_never_works_again(self) -> None:
        self.created(request(1))
        self.cloud.kill(self.cloud.live()[0]["id"])
        failure = self.fails(Code.FAILED_PRECONDITION, self.driver.create, request(1))
        self.assertEqual((failure.terminal, failure.may_have_happened), (True, False))
        self.assertIn("delete the Machine", failure.message)

    def test_a_deletion_that_fails_half_way_says_so_and_ends_well_when_repeated(self) -> None:
        asked = with_id(request(1), self.created(request(1)).provider_id)
        self.cloud.fault("DELETE", "/v1/vms/*", lambda _: NoAnswerReason.TIMED_OUT)
        failure = self.fails(Code.DEADLINE_EXCEEDED, self.driver.delete, asked)
        self.assertTrue(failure.may_have_happened)
        self.cloud.faults.clear()
        down = json_answer(503, {"code": "unavailable", "message": "down"}, retry_after="3")
        self.cloud.fault("GET", "/v1/volumes", lambda _: down)
        failure = self.fails(Code.UNAVAILABLE, self.driver.delete, asked)
        self.assertEqual((failure.may_have_happened, failure.retry_after_ms), (False, 3_000))
        self.cloud.faults.clear()
        self.driver.delete(asked)
        self.assertEqual(self.cloud.live(), [])

    def test_a_proxys_page_of_nothing_is_no_proof_that_there_is_no_vm(self) -> None:
        asked = with_id(request(1), self.created(request(1)).provider_id)
        page = HttpAnswer(404, _PAGE.headers, _PAGE.body)
        for method, call in (("GET", self.driver.get_status), ("DELETE", self.driver.delete)):
            self.cloud.fault(method, "/v1/vms/*", lambda _: page)
            self.fails(Code.UNAVAILABLE, call, asked)

    def test_a_reboot_without_an_answer_may_have_happened(self) -> None:
        self.created(request(1))
        self.cloud.fault("POST", "/v1/vms/*/reboot", lambda _: NoAnswerReason.TIMED_OUT)
        self.assertTrue(self.fails(Code.DEADLINE_EXCEEDED, self.driver.reboot, request(1)).may_have_happened)

    def test_a_call_without_time_left_asks_nobody(self) -> None:
        self.host.remaining_ms = 200
        failure = self.fails(Code.DEADLINE_EXCEEDED, self.driver.create, request(1))
        self.assertFalse(failure.may_have_happened)
        self.assertEqual(self.requests(), [])


class Lies(WithCloud):
    """Uses a cloud that gives the same answer to every request."""

    def always(self, body: str) -> None:
        self.host = MockHost(
            cloud=lambda _: HttpAnswer(200, {}, body.encode()),
            secrets={"token": b"sim-token"},
            places=PLACES,
            settings=SETTINGS,
        )
        self.driver = self.host.driver(SimDriver)

    def test_a_listing_that_turns_in_circles_ends_with_an_error(self) -> None:
        self.always('{"vms": [], "nextCursor": "again"}')
        self.fails(Code.INTERNAL, self.driver.get_status, request(1))
        self.assertEqual(self.driver.list_machines(request(1).class_, "c1", None).next, "again")
        self.fails(Code.INTERNAL, self.driver.list_machines, request(1).class_, "c1", "again")

    def test_answers_that_are_not_the_apis_are_errors_and_never_an_absence(self) -> None:
        deep = "[" * 100_000
        half = '{"vms": [{"id": "vm-1", "name": "\\ud800", "state": "running", "zone": "z"}]}'
        for body in ("", "{", "null", "{}", "7", '{"vms": 1}', '{"vms": [{"id": ""}]}', '{"vms": [{"id": "vm-1"}]}', deep, half):
            self.always(body)
            for call in (self.driver.get_status, self.driver.create, self.driver.delete):
                with self.subTest(body=body[:40]):
                    with self.assertRaises(Exception) as caught:
                        call(request(1))
                    self.assertIn(getattr(caught.exception, "code", None), (Code.INTERNAL, Code.UNAVAILABLE))

    def test_what_a_cloud_lists_beside_the_question_is_not_ours(self) -> None:
        theirs = '{"id": "vm-1", "name": "a", "state": "running", "zone": "z", "tags": {"cluster": "c2"}}'
        self.always(f'{{"vms": [{theirs}], "volumes": []}}')
        self.fails(Code.NOT_FOUND, self.driver.get_status, request(1))
        self.assertEqual(self.driver.list_machines(request(1).class_, "c1", None).machines, [])
        self.driver.delete(request(1))
