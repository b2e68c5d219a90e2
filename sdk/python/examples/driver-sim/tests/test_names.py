"""Ids, times, volumes, and the address of the cloud."""

from unittest import TestCase

from sim_driver import names
from sim_driver.endpoint import Endpoint

from machinist_sdk.driver import Capabilities, Code, Failure
from tests.fixture import WithCloud


class Names(TestCase):
    def test_times_are_milliseconds_since_1970(self) -> None:
        table = [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-01-02T03:04:05.678Z", 1_767_323_045_678),
            ("2024-02-29T23:59:59.9Z", 1_709_251_199_900),
            ("2000-03-01T00:00:00.123456789Z", 951_868_800_123),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-02T03:04:05Z", None),
            ("2026-01-02T03:04:05+01:00", None),
            ("yesterday", None),
            ("2026-01-02T03:04:05.ä1Z", None),
            ("2026-01-02T03:04:05.-1Z", None),
        ]
        for text, expected in table:
            self.assertEqual(names.milliseconds(text), expected, text)

    def test_a_provider_id_has_a_zone_and_an_id(self) -> None:
        self.assertEqual(names.parts("sim:///sim-1a/vm-1"), ("sim-1a", "vm-1"))
        others = (None, "", "vm-1", "sim:///vm-1", "sim:////vm-1", "sim:///sim-1a/", "sim:///a/b/c", "aws:///a/b")
        for other in others:
            self.assertIsNone(names.parts(other), other)

    def test_an_endpoint_is_a_base_and_a_host(self) -> None:
        table = [
            ('{"endpoint": "http://127.0.0.1:8080/", "other": 1}', Endpoint("http://127.0.0.1:8080", "127.0.0.1")),
            ('{"endpoint": "https://[::1]/cloud/"}', Endpoint("https://[::1]/cloud", "[::1]")),
        ]
        for settings, expected in table:
            self.assertEqual(Endpoint.of_settings(settings), expected)

    def test_what_is_no_endpoint_says_what_to_write(self) -> None:
        urls = ("null", "1", '"127.0.0.1:1"', '"ftp://a"', '"http://"', '"http://me@a"', '"http://a/?b"')
        for settings in ("", "{}", "[]", *(f'{{"endpoint": {url}}}' for url in urls)):
            with self.assertRaises(Failure) as caught:
                Endpoint.of_settings(settings)
            # The operator can fix the settings, so the error is not terminal.
            self.assertEqual((caught.exception.code, caught.exception.terminal), (Code.FAILED_PRECONDITION, False))
            self.assertIn("settings", caught.exception.message)


class WithoutNetwork(WithCloud):
    def test_the_driver_says_who_it_is(self) -> None:
        about = self.driver.describe()
        self.assertEqual((about.name, about.providers, about.hosts), ("sim", ["sim"], ["cloud.test"]))
        self.assertEqual(len(about.capabilities & ~Capabilities(0)), 5)
        self.host.settings = "{}"
        self.assertEqual(self.driver.describe().hosts, [])

    def test_volumes_of_other_kinds_have_no_id_here(self) -> None:
        ours = '{"csi": {"driver": "sim.csi.machinist.dev", "volumeHandle": "vol-1"}, "capacity": {}}'
        others = [
            '{"csi": {"driver": "other", "volumeHandle": "vol-1"}}',
            '{"csi": {"driver": "sim.csi.machinist.dev"}}',
            '{"csi": 7}',
            '{"hostPath": {"path": "/"}}',
            "[]",
        ]
        self.assertEqual(self.driver.get_volume_ids([ours, *others]), ["vol-1", None, None, None, None, None])
        self.assertIn("volume spec 1", self.fails(Code.INVALID_ARGUMENT, self.driver.get_volume_ids, [ours, "{"]).message)
