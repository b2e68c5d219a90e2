//! Clouds that lag, refuse, throttle, or lose answers.
//!
//! | module | the cloud |
//! | --- | --- |
//! | `lag` | shows changes in its reads only later |
//! | `lost` | ends the connection, so that nobody knows whether the work was done |
//! | `malformed` | sends answers in no valid form |
//! | `outage` | answers with server errors, or cannot be reached |
//! | `refusal` | refuses, and the driver says why |
//! | `throttle` | asks for fewer requests |

pub(crate) mod lag;
pub(crate) mod lost;
pub(crate) mod malformed;
pub(crate) mod outage;
pub(crate) mod refusal;
pub(crate) mod throttle;
