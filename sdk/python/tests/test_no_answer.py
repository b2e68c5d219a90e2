"""Errors of requests become failures."""

import dataclasses
from unittest import TestCase

from machinist_provider.imports import wasi_http_types as wasi
from machinist_sdk.driver import Attempt, Code, HttpAnswer, code_of_status
from machinist_sdk.driver.no_answer import of_wasi


class MissingAnswers(TestCase):
    def test_what_was_not_sent_did_not_happen_and_what_may_have_been_sent_may_have(self) -> None:
        table = [
            (wasi.ErrorCode_HttpRequestDenied(), Code.FAILED_PRECONDITION, False, "egress"),
            (wasi.ErrorCode_DestinationIpProhibited(), Code.FAILED_PRECONDITION, False, "addresses"),
            (wasi.ErrorCode_HttpRequestUriInvalid(), Code.FAILED_PRECONDITION, False, "endpoint"),
            (wasi.ErrorCode_HttpRequestBodySize(9), Code.INVALID_ARGUMENT, False, "user data"),
            (wasi.ErrorCode_DnsTimeout(), Code.UNAVAILABLE, False, "DNS"),
            (wasi.ErrorCode_ConnectionRefused(), Code.UNAVAILABLE, False, "refuses"),
            (wasi.ErrorCode_ConnectionTimeout(), Code.UNAVAILABLE, False, "network"),
            (wasi.ErrorCode_TlsCertificateError(), Code.UNAVAILABLE, False, "certificate"),
            (wasi.ErrorCode_HttpResponseTimeout(), Code.DEADLINE_EXCEEDED, True, "in time"),
            (wasi.ErrorCode_ConnectionTerminated(), Code.UNAVAILABLE, True, "ended"),
            (wasi.ErrorCode_HttpResponseBodySize(None), Code.INTERNAL, True, "larger"),
            (wasi.ErrorCode_InternalError("unexpected"), Code.UNKNOWN, True, "unexpected"),
        ]
        for given, code, may_have_happened, word in table:
            error = of_wasi(given, "cloud.example")
            failure = Attempt("create the VM", "cloud.example", changes=True).no_answer(error)
            self.assertEqual((failure.code, failure.may_have_happened), (code, may_have_happened), given)
            self.assertTrue(word in failure.message and "cloud.example" in failure.message, failure.message)
            read = Attempt("read the VM", "cloud.example", changes=False).no_answer(error)
            self.assertFalse(read.may_have_happened, given)

    def test_every_error_of_the_contract_has_a_meaning(self) -> None:
        codes = [getattr(wasi, name) for name in dir(wasi) if name.startswith("ErrorCode_")]
        self.assertGreater(len(codes), 30)
        for code in codes:
            error = of_wasi(code(*[None] * len(dataclasses.fields(code))), "cloud.example")
            self.assertIn("cloud.example", error.explanation)


class Refusals(TestCase):
    def test_a_status_has_a_code(self) -> None:
        table = [
            (400, Code.INVALID_ARGUMENT),
            (401, Code.UNAUTHENTICATED),
            (403, Code.PERMISSION_DENIED),
            (404, Code.NOT_FOUND),
            (408, Code.DEADLINE_EXCEEDED),
            (409, Code.ABORTED),
            (410, Code.FAILED_PRECONDITION),
            (413, Code.INVALID_ARGUMENT),
            (429, Code.UNAVAILABLE),
            (500, Code.UNAVAILABLE),
            (504, Code.DEADLINE_EXCEEDED),
            (599, Code.UNAVAILABLE),
            (301, Code.UNKNOWN),
            (418, Code.UNKNOWN),
        ]
        for status, code in table:
            self.assertEqual(code_of_status(status), code, status)

    def test_a_refusal_quotes_little_and_says_whether_it_may_have_happened(self) -> None:
        answer = HttpAnswer(503, {"Retry-After": " 2 "})
        for changes in (True, False):
            attempt = Attempt("create the VM", "cloud.example", changes)
            failure = attempt.refused(answer, "because\n" * 100, cloud_code="busy", advice=": wait")
            self.assertEqual((failure.code, failure.cloud_code, failure.retry_after_ms), (Code.UNAVAILABLE, "busy", 2_000))
            self.assertEqual(failure.may_have_happened, changes)
            self.assertTrue(failure.message.startswith("failed to create the VM: because "), failure.message)
            self.assertTrue(failure.message.endswith("(busy): wait") and len(failure.message) < 300, failure.message)

    def test_only_seconds_are_a_pause(self) -> None:
        for text, expected in [("7", 7_000), ("", None), ("-1", None), ("soon", None), ("²", None), ("9" * 30, None)]:
            self.assertEqual(HttpAnswer(429, {"retry-after": text}).retry_after_ms, expected, text)
