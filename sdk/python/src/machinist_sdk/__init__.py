"""Cloud drivers and health policies for Machinist, in Python.

| what for | module |
| --- | --- |
| a cloud driver | `machinist_sdk.driver` |
| a health policy | `machinist_sdk.policy` |
| unit tests of either, natively | `machinist_sdk.testing` |
| making a component of either | `python -m machinist_sdk.build` |
"""

__version__ = "0.1.0"
