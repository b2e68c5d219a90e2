"""A driver, its host and the cloud, and the functions that tests use."""

from typing import Any
from unittest import TestCase
from urllib.parse import urlsplit

from sim_driver import SimDriver

from machinist_sdk.driver import Code, Failure, Request, Vm
from machinist_sdk.testing.driver import MockHost, a_class, a_request
from tests.fake_cloud import TOKEN, FakeCloud

SETTINGS = '{"endpoint": "http://cloud.test:8080"}'
USER_DATA = b"#cloud-config\nbootstrap: abcdef.0123456789abcdef\n"
# The places of grants.yaml.
PLACES = {"token": [{"header": "authorization"}], "userData": [{"json": "/userData"}]}


class WithCloud(TestCase):
    """Each test has a cloud and a host of its own."""

    def setUp(self) -> None:
        self.cloud = FakeCloud()
        self.host = MockHost(
            cloud=self.cloud,
            secrets={"token": TOKEN.encode()},
            user_data=USER_DATA,
            places=PLACES,
            settings=SETTINGS,
        )
        self.driver = self.host.driver(SimDriver)

    def created(self, request: Request) -> Vm:
        vm = self.driver.create(request)
        assert isinstance(vm, Vm)
        return vm

    def requests(self) -> list[str]:
        """Returns the requests since the last call, one line each."""
        lines = [f"{request.method} {urlsplit(request.url).path}" for request in self.host.sent]
        self.host.sent.clear()
        return lines

    def fails(self, code: Code, call: Any, *arguments: Any) -> Failure:
        with self.assertRaises(Failure) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        return caught.exception


def spec(**changes: Any) -> dict[str, Any]:
    return {"zone": "sim-1a", "type": "sim.small", "image": "linux-1", **changes}


def request(number: int, of_spec: Any = None, *, zones: tuple[str, ...] = (), cluster: str = "c1") -> Request:
    """Returns a request for the Machine with this number."""
    return a_request(number, a_class(spec() if of_spec is None else of_spec, zones=zones), cluster=cluster)


def with_id(request: Request, provider_id: str | None) -> Request:
    """Returns the same request after the host has stored the id."""
    request.machine.provider_id = provider_id
    return request
