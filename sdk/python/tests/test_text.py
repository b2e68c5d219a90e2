"""Foreign text, and JSON in it."""

import json
from unittest import TestCase

from machinist_sdk.text import QUOTED_CHARACTERS, NotJson, quoted, read_json


class Quoted(TestCase):
    def test_what_somebody_wrote_is_quoted_in_part_and_in_one_line(self) -> None:
        long = quoted("ä\n" * 500)
        self.assertEqual(len(long), QUOTED_CHARACTERS)
        self.assertTrue("\n" not in long and long.endswith("…"))
        self.assertEqual(quoted("short"), "short")
        self.assertEqual(len(quoted("x" * QUOTED_CHARACTERS)), QUOTED_CHARACTERS)
        self.assertEqual(quoted("half \ud800 pair"), "half ? pair")


class ReadJson(TestCase):
    def test_every_beginning_of_a_json_text_is_cut_off(self) -> None:
        text = json.dumps({"a": [1.5, -2, True, False, None, "b\n\u00fc\\\"", {}], "c": {"d": "\ud83d\ude00"}}) + ""
        whole = text.encode()
        self.assertEqual(read_json(whole), json.loads(text))
        for end in range(len(whole)):
            with self.subTest(beginning=whole[:end]), self.assertRaises(NotJson) as caught:
                read_json(whole[:end])
            self.assertTrue(caught.exception.is_cut_off, whole[:end])

    def test_a_character_that_is_cut_is_cut_off(self) -> None:
        with self.assertRaises(NotJson) as caught:
            read_json('{"a": "ü'.encode()[:-1])
        self.assertTrue(caught.exception.is_cut_off)

    def test_what_is_no_json_is_refused_and_not_taken_for_a_beginning(self) -> None:
        others = ["garbage", "{'a': 1}", "<html>", "[1,]", '{"a" 1}', "NaN", "[Infinity]", '"\\ud800"', '{"\\udfff": 1}']
        for text in [*others, "9" * 10_000, "[" * 100_000 + "]", b"\xff\xfe{}", '"a\tb"', '{"a": "\\x00"}      ']:
            with self.subTest(text=text[:20]), self.assertRaises(NotJson) as caught:
                read_json(text)
            self.assertFalse(caught.exception.is_cut_off, text[:20])

    def test_what_is_nested_too_deep_for_a_component_is_refused(self) -> None:
        def nested(levels: int) -> str:
            return '{"a": [' * (levels // 2) + '"[[{"' + "]}" * (levels // 2)

        self.assertEqual(read_json(nested(126))["a"][0].keys(), {"a"})
        with self.assertRaises(NotJson):
            read_json(nested(128))
        # Brackets in strings and many lists side by side are no depth.
        self.assertEqual(len(read_json(json.dumps(["[" * 1_000, *[{"a": '\\"['}] * 1_000]))), 1_001)
        with self.assertRaises(NotJson):
            read_json("[" * 200 + '"' + '\\"' * 1_000_000)

    def test_a_pair_of_surrogates_is_one_character(self) -> None:
        self.assertEqual(read_json('"\\ud83d\\ude00"'), "\U0001f600")

    def test_the_place_is_reported(self) -> None:
        with self.assertRaisesRegex(NotJson, r"not JSON \(line 2, column 3\)"):
            read_json("{\n  nonsense")
