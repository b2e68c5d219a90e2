"""Driver of the simulated cloud.

| topic | module |
| --- | --- |
| the calls of the host | `driver` |
| the work of each call in the cloud | `machines` |
| the fields of a class | `spec`, `fields` |
| the cloud's API and its objects | `cloud`, `answer` |
| the cloud's error codes | `refusal` |
| from the cloud's objects to the contract's types | `names` |
| the address of the cloud | `endpoint` |
"""

from sim_driver.driver import SimDriver

__all__ = ["SimDriver"]
