"""Generates modules of this package from the contracts in `wit/`: `PYTHONPATH=src python3 generate.py`.

The build of a component generates modules of its own from the same contracts. The modules here have the same types, and
functions that raise: they are for native tests, type checkers and editors. `tests/test_generated.py` fails if they are
stale.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from machinist_sdk.build.author import POLICY, driver_world
from machinist_sdk.build.component import write_wit
from machinist_sdk.build.tool import componentize_py
from machinist_sdk.driver.base import OPTIONAL

SOURCE = Path(__file__).parent / "src"
# The worlds with everything that a component may export.
_WORLDS = [driver_world(OPTIONAL), POLICY]
# A module that the generated ones share.
_SHARED = "componentize_py_types.py"


def generate(into: Path) -> None:
    """Writes all modules into a folder."""
    for world in _WORLDS:
        with tempfile.TemporaryDirectory() as folder:
            wit, made = Path(folder) / "wit", Path(folder) / "made"
            write_wit(world, wit)
            options = ["--wit-path", str(wit), "--world", world.name, "--world-module", world.module]
            subprocess.run([str(componentize_py()), "--quiet", *options, "bindings", str(made)], check=True)
            shutil.copytree(made / world.module, into / world.module)
            shutil.copy(made / _SHARED, into / _SHARED)


def generated(folder: Path) -> dict[str, str]:
    """Returns the generated files of a folder, by path."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(_paths(folder))}


def _paths(folder: Path) -> Iterator[Path]:
    yield folder / _SHARED
    for world in _WORLDS:
        yield from (folder / world.module).rglob("*.py")


def main() -> None:
    for world in _WORLDS:
        shutil.rmtree(SOURCE / world.module, ignore_errors=True)
    generate(SOURCE)


if __name__ == "__main__":
    main()
