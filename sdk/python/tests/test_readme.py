"""The first example of the README works as described."""

import re
import sys
from pathlib import Path
from types import ModuleType
from unittest import TestCase, TestResult, defaultTestLoader

from machinist_sdk.build.author import load

_README = Path(__file__).parents[1] / "README.md"


class Readme(TestCase):
    def module(self, name: str, text: str) -> ModuleType:
        module = ModuleType(name)
        self.addCleanup(sys.modules.pop, name, None)
        sys.modules[name] = module
        exec(compile(text, name, "exec"), module.__dict__)
        return module

    def test_its_driver_can_be_built_and_passes_its_tests(self) -> None:
        driver, tests = re.findall(r"```python\n(.*?)```", _README.read_text(), re.DOTALL)
        self.module("my_driver", driver)
        self.assertEqual(load("my_driver:MyDriver", []).world.optional, ())
        result = TestResult()
        defaultTestLoader.loadTestsFromModule(self.module("test_my_driver", tests)).run(result)
        self.assertEqual((result.testsRun, result.failures, result.errors), (2, [], []))
