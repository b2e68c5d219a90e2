"""Unit tests of drivers and policies, natively: without a component, a host and a cloud.

| topic | module |
| --- | --- |
| drivers | `machinist_sdk.testing.driver`: a mock host, and sample requests |
| policies | `machinist_sdk.testing.policy`: a healthy Machine, and a policy's calls as the host makes them |

A component contains none of these modules.
"""
