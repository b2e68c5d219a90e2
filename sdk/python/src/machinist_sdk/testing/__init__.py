"""Unit tests of drivers and policies, natively: without a component, a host and a cloud.

| what for | module |
| --- | --- |
| a driver | `machinist_sdk.testing.driver`: a mock host, and requests to ask with |
| a policy | `machinist_sdk.testing.policy`: a Machine that is well, and calls as the host makes them |

Nothing of this becomes part of a component.
"""
