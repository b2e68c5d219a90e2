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
        stage, wit, made = Path(folder) / "stage", Path(folder) / "wit", Path(folder) / "component.wasm"
        _stage(author, stage)
        write_wit(author.world, wit)
        _run(tool, author, [stage, *paths], wit, made)
        shutil.move(made, output)


def contract_folder(contract: str) -> Path:
    """Returns the WIT folder of a contract: in the installed package, else in the tree of this package."""
    for wit in (_PACKAGE / "wit", *(parent / "wit" for parent in _PACKAGE.parents)):
        if any((wit / contract).glob("*.wit")):
            return wit / contract
    raise BuildError(f"the contract {contract} is not beside this package: install machinist-sdk again")


def write_wit(world: World, into: Path) -> None:
    """Writes a folder with the world and all packages that it uses, in the form that the tool reads."""
    if world.part == "policy":
        shutil.copytree(contract_folder("policy/0.1.0"), into)
        return
    exports = "".join(f"  export machinist:{package}/{name}@0.1.0;\n" for package, name in world.optional)
    text = f"package machinist:author@0.1.0;\n\nworld driver {{\n  include machinist:provider/provider@0.1.0;\n{exports}}}\n"
    deps = into / "deps"
    deps.mkdir(parents=True)
    (into / "world.wit").write_text(text)
    packages = dict.fromkeys(["provider", *(package for package, _ in world.optional)])
    folders = [contract_folder(f"{package}/0.1.0") for package in packages]
    for folder in [*folders, folders[0] / "deps"]:
        for file in sorted(folder.glob("*.wit")):
            shutil.copy(file, deps)


def entry(author: Author) -> str:
    """Returns the text of the module from which the tool starts."""
    made = f"exports({author.name})"
    if author.world.part == "driver":
        names = "".join(f'{name} = made["{name}"]\n' for name in author.world.exports)
    else:
        names = "Policy = made\n"
    return (
        f"from {author.module} import {author.name}\n"
        f"from machinist_sdk.{author.world.part}.component import exports\n"
        "from machinist_sdk.preload import seal\n"
        f"made = {made}\n"
        f"{names}"
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


def _run(tool: Path, author: Author, paths: Sequence[Path], wit: Path, made: Path) -> None:
    world: World = author.world
    command = [str(tool), "--quiet", "--wit-path", str(wit), "--world", world.name]
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
