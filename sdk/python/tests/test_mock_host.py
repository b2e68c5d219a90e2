"""The mock host keeps secrets as the host does."""

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any
from unittest import TestCase

from machinist_sdk.driver import Encoding, Host, HttpAnswer, HttpRequest, NoAnswer, NoAnswerReason, Refusal, SecretRefused, auth
from machinist_sdk.testing.driver import REQUEST_BYTES, REQUESTS_PER_CALL, MockHost

TOKEN = b'tok"en/with+signs'
USER_DATA = b"#cloud-config\n" + b"a" * 100
PLACES = {
    "token": [{"header": "Authorization"}, {"json": "/auth/0/to~1ken"}, {"form": "to ken"}],
    "userData": [{"json": "/userData"}],
}
URL = "http://cloud.test/v1"


def host(**changes: Any) -> MockHost:
    given: dict[str, Any] = {"cloud": lambda _: HttpAnswer(200), "secrets": {"token": TOKEN, "other": b"x"}}
    return MockHost(**{**given, "user_data": USER_DATA, "places": PLACES, **changes})


def token(call: Host, *encodings: Encoding) -> str:
    secret = call.secrets.open("token")
    assert secret is not None
    return secret.placeholder(*encodings)


class Placeholders(TestCase):
    def seen(self, build: Callable[[Host], HttpRequest]) -> HttpRequest:
        world = host()
        call = world.open("create")
        request = build(call)
        call.send(request)
        self.assertEqual(world.sent, [request])
        return world.seen[0]

    def denied(self, build: Callable[[Host], HttpRequest], world: MockHost | None = None) -> None:
        world = world or host()
        call = world.open("create")
        with self.assertRaises(NoAnswer) as caught:
            call.send(build(call))
        self.assertEqual((caught.exception.reason, world.seen), (NoAnswerReason.DENIED, []))

    def test_values_are_filled_in_where_they_are_granted(self) -> None:
        seen = self.seen(lambda call: HttpRequest("GET", URL, {"authorization": f"Bearer {token(call)}"}))
        self.assertEqual(seen.headers["authorization"].encode(), b"Bearer " + TOKEN)

        def body(call: Host) -> bytes:
            return json.dumps({"auth": [{"to/ken": f"<{token(call, Encoding.JSON_ESCAPE)}>"}]}).encode()

        seen = self.seen(lambda call: HttpRequest("POST", URL, {"content-type": "application/json"}, body(call)))
        self.assertEqual(json.loads(seen.body or b""), {"auth": [{"to/ken": f"<{TOKEN.decode()}>"}]})
        form = {"content-type": "application/x-www-form-urlencoded"}
        seen = self.seen(lambda call: HttpRequest("POST", URL, form, f"a=1&to+ken={token(call, Encoding.FORM)}".encode()))
        self.assertEqual(seen.body, b"a=1&to+ken=tok%22en%2Fwith%2Bsigns")

    def test_encodings_are_applied_in_their_order(self) -> None:
        def build(call: Host) -> HttpRequest:
            user_data = call.secrets.user_data()
            assert user_data is not None
            return HttpRequest("POST", URL, {}, json.dumps({"userData": user_data.placeholder(Encoding.GZIP, Encoding.BASE64)}).encode())

        body = json.loads(self.seen(build).body or b"")
        self.assertEqual(gzip.decompress(base64.b64decode(body["userData"])), USER_DATA)

    def test_anywhere_else_the_request_is_denied(self) -> None:
        body: Callable[[Any], bytes] = lambda value: json.dumps(value).encode()  # noqa: E731
        json_type = {"content-type": "application/json"}
        wrong: list[Callable[[Host], HttpRequest]] = [
            lambda call: HttpRequest("GET", f"{URL}?token={token(call)}"),
            lambda call: HttpRequest("GET", f"{URL}/{token(call)}"),
            lambda call: HttpRequest("GET", URL, {"x-token": token(call)}),
            lambda call: HttpRequest("GET", URL, {token(call): "x"}),
            lambda call: HttpRequest("POST", URL, json_type, body({"userData": token(call)})),
            lambda call: HttpRequest("POST", URL, json_type, body({token(call): "x"})),
            lambda call: HttpRequest("POST", URL, json_type, token(call).encode()),
            lambda call: HttpRequest("POST", URL, {"content-type": "text/plain"}, token(call).encode()),
            # Its quote would end the string.
            lambda call: HttpRequest("POST", URL, json_type, body({"auth": [{"to/ken": token(call)}]})),
            lambda call: HttpRequest("GET", URL, {"authorization": "x0machinist0secret0x" + "0" * 25}),
            lambda call: HttpRequest("GET", URL, {"authorization": token(call)[:-1]}),
        ]
        for build in wrong:
            self.denied(build)

    def test_a_placeholder_of_another_call_means_nothing(self) -> None:
        world = host()
        before = token(world.open("create"))
        self.denied(lambda _: HttpRequest("GET", URL, {"authorization": before}), world)

    def test_a_placeholder_shows_nothing_and_is_the_same_for_the_same_encodings(self) -> None:
        call = host().open("create")
        self.assertEqual(token(call), token(call))
        self.assertNotEqual(token(call), token(call, Encoding.PLAIN))
        self.assertTrue(token(call).isalnum() and "tok" not in token(call).removeprefix("x0machinist0secret0x"))

    def test_what_is_not_granted_is_refused(self) -> None:
        call = host().open("create")
        secret = call.secrets.open("other")
        assert secret is not None
        for ask, refusal in [
            (secret.placeholder, Refusal.NOT_GRANTED),
            (secret.reveal, Refusal.NOT_GRANTED),
            (lambda: token(call, *[Encoding.PLAIN] * 5), Refusal.ENCODINGS),
        ]:
            with self.assertRaises(SecretRefused) as caught:
                ask()
            self.assertEqual(caught.exception.refusal, refusal)
        revealed = host(revealed=["token"]).open("create").secrets.open("token")
        self.assertEqual(revealed and revealed.reveal(), TOKEN)

    def test_only_user_data_says_how_it_starts(self) -> None:
        secrets = host().open("create").secrets
        user_data, credential = secrets.user_data(), secrets.open("token")
        assert user_data is not None and credential is not None
        self.assertTrue(user_data.starts_with(b"#cloud-config\n"))
        self.assertFalse(credential.starts_with(b"tok"))
        self.assertEqual((user_data.length(), credential.length()), (len(USER_DATA), len(TOKEN)))
        self.assertEqual((secrets.keys(), secrets.open("none")), (["other", "token"], None))

    def test_user_data_is_there_in_two_calls_only(self) -> None:
        for call, is_there in [("create", True), ("initialize", True), ("delete", False), ("list", False)]:
            self.assertEqual(host().open(call).secrets.user_data() is not None, is_there, call)


class Answers(TestCase):
    def test_values_are_taken_out_of_answers_and_lines(self) -> None:
        echo = b"token " + TOKEN + b" and " + base64.b64encode(TOKEN)
        world = host(cloud=[HttpAnswer(400, {"x-echo": TOKEN.decode()}, echo)])
        call = world.open("create")
        answer = call.send(HttpRequest("GET", URL))
        self.assertEqual((answer.body, answer.header("X-Echo")), (b"token *** and ***", "***"))
        call.log.warn("refused", why=TOKEN.decode())
        self.assertEqual(world.lines[0].fields, (("why", "***"),))

    def test_limits_are_the_hosts(self) -> None:
        world = host()
        call = world.open("create")
        with self.assertRaises(NoAnswer) as caught:
            call.send(HttpRequest("POST", URL, {}, b"x" * (REQUEST_BYTES + 1)))
        self.assertIs(caught.exception.reason, NoAnswerReason.REQUEST_TOO_LARGE)
        for _ in range(REQUESTS_PER_CALL - 1):
            call.send(HttpRequest("GET", URL))
        with self.assertRaises(NoAnswer):
            call.send(HttpRequest("GET", URL))
        large = host(cloud=[HttpAnswer(200, {}, b"x" * (4 * 1024 * 1024 + 1))]).open("create")
        with self.assertRaises(NoAnswer) as caught:
            large.send(HttpRequest("GET", URL))
        self.assertIs(caught.exception.reason, NoAnswerReason.ANSWER_TOO_LARGE)

    def test_no_url_is_no_request(self) -> None:
        for url in ("", "cloud.test/v1", "ftp://cloud.test/", "http://", "http://me@cloud.test/", "http://a/ b", "http://[::1", "http://ä/"):
            world = host()
            with self.assertRaises(NoAnswer) as caught:
                world.open("create").send(HttpRequest("GET", url))
            self.assertEqual((caught.exception.reason, world.sent), (NoAnswerReason.BAD_URL, []), url)

    def test_marks_are_as_the_host_reads_them(self) -> None:
        for mark, expected in (
            (auth.aws_sigv4("ec2", "eu-west-1"), "aws-sigv4; service=ec2; region=eu-west-1"),
            (auth.bearer(), "bearer"),
            (auth.basic(), "basic"),
            (auth.oauth2_client_credentials(), "oauth2-client-credentials"),
            (auth.oauth2_client_credentials("a/.default", "b"), "oauth2-client-credentials; scope=a/.default b"),
            (auth.jwt_bearer("compute"), "jwt-bearer; scope=compute"),
            (auth.keystone(), "keystone"),
            (auth.client_certificate(), "client-certificate"),
        ):
            self.assertEqual(mark, {"machinist-auth": expected})
