"""The generated modules are those of the contracts in the tree."""

import tempfile
from pathlib import Path
from unittest import TestCase

from generate import SOURCE, generate, generated


class Generated(TestCase):
    def test_the_modules_are_what_the_contracts_say(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder))
            fresh, kept = generated(Path(folder)), generated(SOURCE)
        self.assertIn("machinist_provider/imports/secrets.py", fresh)
        self.assertEqual(sorted(kept), sorted(fresh), "run generate.py")
        for path, text in fresh.items():
            self.assertTrue(kept[path] == text, f"{path} is stale: run generate.py")
