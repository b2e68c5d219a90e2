"""Builds a component from a driver or a health policy: `python -m machinist_sdk.build MODULE:CLASS -o FILE.wasm`.

| topic | module |
| --- | --- |
| the author's class, and its mistakes | `author` |
| the tool that builds components | `tool` |
| the content of the component | `component` |
"""


class BuildError(Exception):
    """The reason why a build failed, and what to do."""
