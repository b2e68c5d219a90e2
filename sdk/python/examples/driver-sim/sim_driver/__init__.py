"""Driver of the simulated cloud.

| question | module |
| --- | --- |
| what does the host call | `driver` |
| what does each call do in the cloud | `machines` |
| what may a class say | `spec` |
| what does the cloud's API look like | `cloud`, `answer` |
| what does a refusal mean | `refusal` |
| how does the cloud's word become the contract's | `names` |
| where is the cloud | `endpoint` |
"""

from sim_driver.driver import SimDriver

__all__ = ["SimDriver"]
