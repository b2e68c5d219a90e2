"""The tool that builds components, in virtual environments of the cache folder, one per version and Python.

The cache is `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`. The environments are in
its folder `sdk-python/<digest>`.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from machinist_sdk.build import BuildError

# Exact versions, with the digests of their files.
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_PIP = ("-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes", "--requirement")
_VENV_STEP = "install Python's venv module (Debian: apt-get install python3-venv) and run this again"
_NETWORK_STEP = (
    "if it could not reach the package index, check the network, or name a mirror in PIP_INDEX_URL, and run this again. Once "
    "installed, no network is needed"
)


def componentize_py() -> Path:
    """Returns the tool, which it installs if missing. Raises `BuildError`. Of concurrent processes one installs."""
    folder = _cache() / "sdk-python" / _digest()
    program, ready = folder / "venv" / "bin" / "componentize-py", folder / "ready"
    if ready.is_file() and program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        # Held until the file is closed.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ready.is_file() and program.exists()):
            _install(folder)
            ready.touch()
    return program


def _install(folder: Path) -> None:
    print(f"installing componentize-py into {folder}, once", file=sys.stderr)
    venv = folder / "venv"
    # Remains of a killed installation.
    shutil.rmtree(venv, ignore_errors=True)
    if subprocess.run([sys.executable, "-I", "-m", "venv", str(venv)], stdout=sys.stderr).returncode != 0:
        raise BuildError(f"`{sys.executable} -m venv` failed; its messages are above: {_VENV_STEP}")
    pip = [str(venv / "bin" / "python"), *_PIP, str(REQUIREMENTS)]
    if subprocess.run(pip, stdout=sys.stderr).returncode != 0:
        raise BuildError(f"pip could not install componentize-py; its messages are above: {_NETWORK_STEP}")


def _cache() -> Path:
    for variable, rest in (("MACHINIST_CACHE", "."), ("XDG_CACHE_HOME", "machinist"), ("HOME", ".cache/machinist")):
        if os.environ.get(variable):
            return Path(os.environ[variable]) / rest
    raise BuildError("none of MACHINIST_CACHE, XDG_CACHE_HOME and HOME is set: set one, since tools are kept there")


def _digest() -> str:
    """Each Python and each list of requirements has an environment of its own."""
    parts = [REQUIREMENTS.read_bytes(), sys.version.encode(), sys.base_prefix.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]
