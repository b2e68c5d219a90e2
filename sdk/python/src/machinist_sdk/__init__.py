"""Cloud drivers and health policies for Machinist, in Python.

| topic | module |
| --- | --- |
| cloud drivers | `machinist_sdk.driver` |
| health policies | `machinist_sdk.policy` |
| unit tests of both, natively | `machinist_sdk.testing` |
| builds of components | `python -m machinist_sdk.build` |
"""

__version__ = "0.1.0"
