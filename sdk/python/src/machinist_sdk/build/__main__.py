"""`python -m machinist_sdk.build`."""

import argparse
import sys
from pathlib import Path

from machinist_sdk.build import BuildError
from machinist_sdk.build.author import load
from machinist_sdk.build.component import build


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m machinist_sdk.build", description="Makes a component of a driver or a health policy."
    )
    parser.add_argument("what", metavar="MODULE:CLASS", help="the class that implements Driver or Policy")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help="where the component is written")
    parser.add_argument(
        "-p",
        "--path",
        action="append",
        type=Path,
        metavar="DIR",
        help="where modules are looked for, yours and those of pure Python that you use; may be given several times "
        "(default: the current folder)",
    )
    arguments = parser.parse_args()
    paths = [path.resolve() for path in arguments.path or [Path()]]
    try:
        build(load(arguments.what, paths), paths, arguments.output.resolve())
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.output}: {arguments.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
