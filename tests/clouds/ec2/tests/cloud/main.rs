//! The functions that the proxy adds to moto, one a test.
//!
//! | module | content |
//! | --- | --- |
//! | `tokens` | a ClientToken gives one instance, whatever happens to its requests |
//! | `signatures` | signatures are verified, and clocks that are off are shown |
//! | `sts` | a token becomes a session, which expires |
//! | `reads` | pages, prefixes, and changes of the source/destination check |
//! | `lag` | reads show launches, changes and terminations late |
//! | `faults` | throttling, missing capacity, lost and broken answers, delays |
//! | `bad_input` | unknown objects are refused as the cloud refuses them |
//! | `speed` | two hundred instances are created and listed in reasonable time |
//! | `others` | the end of moto's process, and reads and changes beside the proxy |
//! | `support` | a client of EC2 with a signer of its own |

mod bad_input;
mod faults;
mod lag;
mod others;
mod reads;
mod signatures;
mod speed;
mod sts;
mod support;
mod tokens;
