"""The policy, as the host calls it."""

import json
from pathlib import Path
from unittest import TestCase

from zone_policy import ZonePolicy

from machinist_sdk.policy import Domain, Question, SettingsError, Status
from machinist_sdk.testing.policy import MockHost, a_condition, a_question

HELD = (
    "Unknown until 31000: at least 50 % of the Machines in failure domain zone-a are silent: held until that is over"
)
SICK = "Unhealthy until 31000: Ready is Unknown"


def silent(machines: int, silent: int, *, name: str | None = "zone-a") -> Question:
    question = a_question()
    assert question.node is not None
    question.node.conditions = [a_condition("Ready", Status.UNKNOWN, 400)]
    question.domain = Domain(name, machines, silent)
    return question


class Zone(TestCase):
    def setUp(self) -> None:
        self.policy = MockHost().policy(ZonePolicy)

    def check(self, settings: str, question: Question, expected: str) -> None:
        verdict = self.policy.evaluate(question, settings, 1_000)
        health = type(verdict.health).__name__.removeprefix("Health_")
        self.assertEqual(f"{health} until {verdict.holds_until}: {verdict.reason}", expected)

    def test_a_sick_machine_is_held_from_half_of_its_domain_on(self) -> None:
        self.check("{}", silent(4, 1), SICK)
        self.check("{}", silent(4, 2), HELD)
        self.check("{}", silent(5, 2), SICK)
        self.check("{}", silent(5, 5), HELD)
        self.check('{"silentPercent": 30}', silent(10, 3), HELD.replace("50", "30"))

    def test_a_domain_with_few_machines_is_never_silent(self) -> None:
        self.check("{}", silent(2, 2), SICK)
        self.check('{"leastMachines": 2}', silent(2, 2), HELD)

    def test_a_healthy_machine_is_healthy_however_silent_its_domain_is(self) -> None:
        question = a_question()
        question.domain = Domain("zone-a", 10, 9)
        self.check("{}", question, "Healthy until 43201000: the Node is ready")

    def test_a_domain_without_a_name_is_one_too(self) -> None:
        self.check("{}", silent(3, 3, name=None), HELD.replace("failure domain zone-a", "an unknown failure domain"))

    def test_settings_that_cannot_be_are_named(self) -> None:
        table = [
            ('{"silentPercent": 0}', "silentPercent is 0, and must be from 1 to 100"),
            ('{"leastMachines": 1}', "leastMachines is 1, and must be from 2 to 4294967295"),
            ('{"recheckSeconds": -1}', "recheckSeconds is -1, and must be from 1 to 3600"),
            ('{"recheckSeconds": true}', "recheckSeconds must be a whole number, got True"),
            ('{"percent": 1}', "percent is no setting; there are silentPercent, leastMachines, recheckSeconds"),
            ("[]", "invalid: they must be a JSON object"),
            ("{", "invalid: they are not JSON (line 1, column 2)"),
        ]
        for settings, expected in table:
            with self.assertRaises(SettingsError) as caught:
                self.policy.check_settings(settings)
            self.assertEqual(str(caught.exception), expected)
        self.policy.check_settings("{}")

    def test_the_schema_names_the_settings_and_their_defaults(self) -> None:
        schema = self.policy.describe().settings_schema
        assert schema is not None
        properties = json.loads(schema)["properties"]
        defaults = json.loads(Path(__file__).parents[1].joinpath("settings.json").read_text())
        self.assertEqual({name: field["default"] for name, field in properties.items()}, defaults)
