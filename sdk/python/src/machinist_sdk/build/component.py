"""Collects the content of a component, and runs the tool."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import machinist_sdk
from machinist_sdk.build import BuildError
from machinist_sdk.build.author import Author, World
from machinist_sdk.build.tool import componentize_py

# The tool starts from this module. Its name must differ from the author's modules.
ENTRY = "machinist_component"
_PACKAGE = Path(machinist_sdk.__file__).parent
# The line after the tool's message, before its stack.
_STACK = "Stack backtrace:"


def build(author: Author, paths: Sequence[Path], output: Path) -> None:
    """Writes the component. Raises `BuildError`."""
    if not output.parent.is_dir():
        raise BuildError(f"there is no folder {output.parent}: make it, or write elsewhere with --output")
    tool = componentize_py()
    with tempfile.TemporaryDirectory(prefix="machinist-build-") as folder:
        stage, made = Path(folder) / "stage", Path(folder) / "component.wasm"
        _stage(author, stage)
        _run(tool, author, [stage, *paths], made)
        shutil.move(made, output)


def contract_folder(contract: str) -> Path:
    """Returns the WIT folder of a contract: in the installed package, else in the tree of this package."""
    for wit in (_PACKAGE / "wit", *(parent / "wit" for parent in _PACKAGE.parents)):
        if (wit / contract / "deps").is_dir():
            return wit / contract
    raise BuildError(f"the contract {contract} is not beside this package: install machinist-sdk again")


def entry(author: Author) -> str:
    """Returns the text of the module from which the tool starts."""
    names = ", ".join(author.world.exports) if len(author.world.exports) > 1 else author.world.exports[0]
    made = f"exports({author.name})"
    if author.world.exports == ("Driver",):
        made += "[0]"
    return (
        f"from {author.module} import {author.name}\n"
        f"from machinist_sdk.{author.world.part}.component import exports\n"
        "from machinist_sdk.preload import seal\n"
        f"{names} = {made}\n"
        "seal()\n"
    )


def _stage(author: Author, stage: Path) -> None:
    """Copies the parts of this package that a component needs, and the entry."""
    package = stage / _PACKAGE.name
    package.mkdir(parents=True)
    for module in _PACKAGE.glob("*.py"):
        shutil.copy(module, package)
    shutil.copytree(_PACKAGE / author.world.part, package / author.world.part, ignore=shutil.ignore_patterns("__pycache__"))
    (stage / f"{ENTRY}.py").write_text(entry(author))


def _run(tool: Path, author: Author, paths: Sequence[Path], made: Path) -> None:
    world: World = author.world
    command = [str(tool), "--quiet", "--wit-path", str(contract_folder(world.contract)), "--world", world.name]
    command += ["--world-module", world.module, "componentize", ENTRY, "--output", str(made)]
    for path in paths:
        command += ["--python-path", str(path)]
    # An active environment would add all its installed packages.
    surroundings = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not made.is_file():
        said = (done.stderr + done.stdout).split(_STACK)[0].strip()
        raise BuildError(f"componentize-py failed for {author.module}:{author.name}{_hint(said)}:\n{said}")


def _hint(said: str) -> str:
    if "ModuleNotFoundError" in said or "ImportError" in said:
        return (
            ", which cannot import a module: name the folder of pure Python modules with --path; modules of C code, and ssl, "
            "ctypes, sqlite3 and the like, do not exist in a component"
        )
    return ""
