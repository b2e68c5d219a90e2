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

from machinist_sdk.build.component import contract_folder
from machinist_sdk.build.tool import componentize_py

SOURCE = Path(__file__).parent / "src"
# The contract, the largest world of it, and the module.
_WORLDS = [
    ("provider/0.1.0", "full-provider", "machinist_provider"),
    ("policy/0.1.0", "health-policy", "machinist_policy"),
]
# A module that the generated ones share.
_SHARED = "componentize_py_types.py"


def generate(into: Path) -> None:
    """Writes all modules into a folder."""
    for contract, world, module in _WORLDS:
        with tempfile.TemporaryDirectory() as folder:
            options = ["--wit-path", str(contract_folder(contract)), "--world", world, "--world-module", module]
            subprocess.run([str(componentize_py()), "--quiet", *options, "bindings", folder], check=True)
            shutil.copytree(Path(folder) / module, into / module)
            shutil.copy(Path(folder) / _SHARED, into / _SHARED)


def generated(folder: Path) -> dict[str, str]:
    """Returns the generated files of a folder, by path."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(_paths(folder))}


def _paths(folder: Path) -> Iterator[Path]:
    yield folder / _SHARED
    for _, _, module in _WORLDS:
        yield from (folder / module).rglob("*.py")


def main() -> None:
    for _, _, module in _WORLDS:
        shutil.rmtree(SOURCE / module, ignore_errors=True)
    generate(SOURCE)


if __name__ == "__main__":
    main()
