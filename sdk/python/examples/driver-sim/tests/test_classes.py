"""Classes that the driver accepts and refuses."""

import json
from typing import Any
from unittest import TestCase

from sim_driver.spec import SCHEMA, Spec, VolumeSpec, asks_for_initialize, read

from machinist_sdk.driver import Code
from machinist_sdk.testing.driver import a_class
from tests.fixture import WithCloud, request, spec


class Classes(WithCloud):
    def test_a_class_is_read_leniently(self) -> None:
        volume = {"sizeGib": 20, "name": None, "keep": True}
        lenient = spec(tags={"team": "a"}, initialize=True, volumes=[volume], region=None, colour="blue")
        given = read(a_class(lenient))
        expected = Spec(["sim-1a"], "sim.small", "linux-1", {"team": "a"}, [VolumeSpec(20)], initialize=True)
        self.assertEqual(given.spec, expected)
        self.assertEqual(
            given.warnings,
            [
                "providerSpec.colour is not a field and is ignored",
                "providerSpec.region is not a field and is ignored",
                "providerSpec.volumes[0].keep is not a field and is ignored",
            ],
        )
        self.assertEqual(self.driver.validate_class(a_class(lenient)), given.warnings)
        self.created(request(1, lenient))
        self.assertEqual(self.cloud.live()[0]["tags"]["team"], "a")

    def test_a_fault_names_its_field_before_anything_is_asked(self) -> None:
        many = {str(number): "" for number in range(48)}
        table: list[tuple[Any, str]] = [
            (None, "zone is required"),
            (spec(zone=""), 'zone must be a text that is not empty, got ""'),
            (spec(type=7), "type must be a text that is not empty, got 7"),
            (spec(image=None), "image is required"),
            (spec(initialize="yes"), 'initialize must be true or false, got "yes"'),
            (spec(initialize=1), "initialize must be true or false, got 1"),
            (spec(interruptible=1), "interruptible must be true or false, got 1"),
            (spec(tags=[]), "tags must be an object of texts, got []"),
            (spec(tags={"a": 1}), 'tags["a"] must be a text of at most 256 bytes, got 1'),
            (spec(tags={"a:b": ""}), 'tags["a:b"] must have a key of 1 to 128 bytes without a colon'),
            (spec(tags={"cluster": "mine"}), 'tags["cluster"] is set by the driver: use another key'),
            (spec(tags=many), "tags has 48 entries: at most 47 fit"),
            (spec(volumes={}), "volumes must be a list, got {}"),
            (spec(volumes=[1]), "volumes[0] must be an object, got 1"),
            (spec(volumes=[{}]), "volumes[0].sizeGib is required"),
            (spec(volumes=[{"sizeGib": True}]), "volumes[0].sizeGib must be a whole number from 1 on, got true"),
            (
                spec(volumes=[{"sizeGib": 1}, {"sizeGib": 1.5}]),
                "volumes[1].sizeGib must be a whole number from 1 on, got 1.5",
            ),
            (
                spec(volumes=[{"sizeGib": 1, "name": 2}]),
                "volumes[0].name must be a text that is not empty, got 2",
            ),
        ]
        for wrong, message in table:
            text = "null" if wrong is None else wrong
            for call, argument in ((self.driver.validate_class, a_class(text)), (self.driver.create, request(1, text))):
                failure = self.fails(Code.INVALID_ARGUMENT, call, argument)
                self.assertEqual((failure.message, failure.terminal), (f"providerSpec.{message}", True))
        self.assertEqual(self.requests(), [])


class Reading(TestCase):
    def test_null_is_as_good_as_nothing(self) -> None:
        given = read(a_class(spec(tags=None, volumes=None, initialize=None)))
        self.assertEqual(given.warnings, [])
        self.assertEqual((given.spec.tags, given.spec.volumes, given.spec.initialize), ({}, [], False))

    def test_a_class_without_a_zone_takes_the_alternatives(self) -> None:
        given = read(a_class(spec(zone=None), zones=("sim-1b", "sim-1c", "sim-1b")))
        self.assertEqual(given.spec.zones, ["sim-1b", "sim-1c"])

    def test_text_that_is_not_json_says_where(self) -> None:
        class_ = a_class("{\n  nonsense")
        with self.assertRaisesRegex(Exception, r"providerSpec is not JSON \(line 2, column 3\)"):
            read(class_)
        self.assertFalse(asks_for_initialize(class_))

    def test_the_schema_knows_the_fields_that_are_read(self) -> None:
        properties = json.loads(SCHEMA)["properties"]
        volume = dict.fromkeys(properties["volumes"]["items"]["properties"]) | {"sizeGib": 1}
        everything = dict.fromkeys(properties) | spec(volumes=[volume])
        self.assertEqual(read(a_class(everything)).warnings, [])
        self.assertEqual(len(properties), 7)
