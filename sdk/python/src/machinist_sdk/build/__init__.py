"""Makes a component of a driver or a health policy: `python -m machinist_sdk.build MODULE:CLASS -o FILE.wasm`.

| question | module |
| --- | --- |
| whose class is it, and will it work | `author` |
| where is the tool that makes components | `tool` |
| what goes into the component | `component` |
"""


class BuildError(Exception):
    """Why there is no component, and what to do."""
