"""Errors of `python -m machinist_sdk.build` before it builds a component, and the content of one."""

import os
import stat
import sys
import tempfile
from pathlib import Path
from unittest import TestCase, mock

from machinist_sdk.build import BuildError, tool
from machinist_sdk.build.author import Author, load
from machinist_sdk.build.component import build, entry, write_wit

_DRIVER = """
from machinist_sdk.driver import About, Capabilities, Driver

class Whole(Driver):
    def describe(self, host): return About("mine", "1.0.0", ["mine"])
    def validate_class(self, class_, host): return []
    def create(self, request, host): ...
    def delete(self, request, host): ...

class Rebooter(Whole):
    def reboot(self, request, host): ...

class Placer(Whole):
    def node_id(self, request, vm, host): ...
    def place(self, class_, failure_domain, host): ...
    def is_interruptible(self, class_, host): ...
    def node_capacity(self, class_, host): ...

class Half(Driver):
    def describe(self, host): return About("mine", "1.0.0", ["mine"])

class Homeless(Whole):
    def describe(self, host): return About("mine", "1.0.0", [])

class Boaster(Whole):
    def describe(self, host): return About("mine", "1.0.0", ["mine"], capabilities=Capabilities.STATUS)

class Curious(Whole):
    def describe(self, host): return About("mine", host.secrets.keys()[0], ["mine"])

class Scribbler(Whole):
    def describe(self, host): return About("mine", "1.0.0", ["mine"], class_schema="{")
"""


class Scratch(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.addCleanup(setattr, sys, "path", list(sys.path))

    def module(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(text)
        self.addCleanup(sys.modules.pop, name, None)


class Authors(Scratch):
    def load(self, what: str) -> Author:
        return load(what, [self.folder])

    def test_the_world_is_chosen_by_what_the_class_can(self) -> None:
        self.module("mine", _DRIVER)
        table = [
            ("Whole", ()),
            ("Rebooter", (("provider", "reboot"),)),
            (
                "Placer",
                (
                    ("node-id", "node-id"),
                    ("placement", "placement"),
                    ("interruption", "interruption"),
                    ("capacity", "capacity"),
                ),
            ),
        ]
        for name, optional in table:
            author = self.load(f"mine:{name}")
            self.assertEqual(author.world.optional, optional)
            write_wit(author.world, self.folder / name)
            text = (self.folder / name / "world.wit").read_text()
            self.assertEqual(text.count("export "), len(optional), text)
        self.assertIn('\nDriver = made["Driver"]\nReboot = made["Reboot"]\nseal()', entry(self.load("mine:Rebooter")))
        self.assertIn('\nDriver = made["Driver"]\nseal()', entry(self.load("mine:Whole")))

    def test_what_cannot_work_is_reported_with_what_to_do(self) -> None:
        self.module("mine", _DRIVER)
        self.module("bad", "import nowhere_to_be_found")
        self.module("worse", "raise SystemExit(3)")
        table = [
            ("mine", "is not MODULE:CLASS"),
            ("mine:a.b", "is not MODULE:CLASS"),
            ("yours:Whole", "there is no module yours in"),
            ("bad:Whole", "there is no module nowhere_to_be_found in"),
            ("worse:Whole", "failed to import worse: SystemExit: 3"),
            ("mine:Nobody", "is no driver and no policy"),
            ("mine:About", "is no driver and no policy"),
            ("mine:Driver", "is no driver and no policy"),
            ("mine:Half", "Half lacks create, delete, validate_class"),
            ("mine:Homeless", "serves no provider"),
            ("mine:Boaster", "describe says STATUS, and Boaster has no get_status"),
            ("mine:Curious", "describe has neither secrets nor network"),
            ("mine:Scribbler", "class_schema of Scribbler is not JSON"),
        ]
        for what, message in table:
            with self.subTest(what=what), self.assertRaises(BuildError) as caught:
                self.load(what)
            self.assertIn(message, str(caught.exception))
        with self.assertRaisesRegex(BuildError, "there is no folder"):
            load("mine:Whole", [self.folder / "none"])


class Tools(Scratch):
    """Uses a fake tool and a fake pip."""

    def program(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def installed(self, text: str) -> None:
        with mock.patch.object(tool, "_install", lambda folder: self.program(folder / "venv/bin/componentize-py", text)):
            tool.componentize_py()

    def cached(self) -> "mock._patch_dict":
        return mock.patch.dict(os.environ, {"MACHINIST_CACHE": str(self.folder / "cache")})

    def test_what_is_installed_is_not_installed_again(self) -> None:
        with self.cached():
            self.installed("exit 0")
            with mock.patch.object(tool, "_install", side_effect=AssertionError):
                self.assertTrue(tool.componentize_py().exists())

    def test_an_installation_that_failed_is_reported_with_the_next_step_and_starts_over(self) -> None:
        venv = self.folder / "python"
        self.program(venv, 'mkdir -p "$4/bin"; printf "#!/bin/sh\\nexit 1\\n" > "$4/bin/python"; chmod +x "$4/bin/python"')
        with self.cached(), mock.patch.object(sys, "executable", str(venv)):
            with self.assertRaisesRegex(BuildError, "check the network, or name a mirror in PIP_INDEX_URL"):
                tool.componentize_py()
            self.program(venv, "exit 1")
            with self.assertRaisesRegex(BuildError, "apt-get install python3-venv"):
                tool.componentize_py()
            self.installed("exit 0")
        with mock.patch.dict(os.environ, clear=True), self.assertRaisesRegex(BuildError, "none of MACHINIST_CACHE"):
            tool.componentize_py()

    def test_a_component_is_made_of_the_entry_the_sdk_and_the_authors_folders(self) -> None:
        self.module("mine", _DRIVER)
        author = load("mine:Whole", [self.folder])
        with self.cached():
            # Records its arguments, as if they were a component.
            self.installed('echo "$@" > "${11}"; ls "${13}" "${13}/machinist_sdk" >> "${11}"')
            build(author, [self.folder], self.folder / "mine.wasm")
        recorded = (self.folder / "mine.wasm").read_text()
        for word in ("--world driver", "machinist_component.py", "driver", f"--python-path {self.folder}"):
            self.assertIn(word, recorded)
        for word in ("policy", "testing", "build\n"):
            self.assertNotIn(word, recorded)

    def test_a_tool_that_fails_is_quoted_without_its_stack(self) -> None:
        self.module("mine", _DRIVER)
        author = load("mine:Whole", [self.folder])
        with self.cached():
            self.installed('echo "ModuleNotFoundError: No module named ssl" >&2; echo "Stack backtrace:" >&2; echo deep >&2; exit 1')
            with self.assertRaises(BuildError) as caught:
                build(author, [self.folder], self.folder / "mine.wasm")
            with self.assertRaisesRegex(BuildError, "there is no folder"):
                build(author, [self.folder], self.folder / "none" / "mine.wasm")
        message = str(caught.exception)
        self.assertTrue("ModuleNotFoundError" in message and "--path" in message and "deep" not in message, message)
