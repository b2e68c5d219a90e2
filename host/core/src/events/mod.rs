//! Kubernetes Events: which text is the same Event, and in which order Events are written.
//!
//! | module | what it does |
//! | --- | --- |
//! | `outbox` | the queue: in order for each object, several objects in parallel |
//! | `masked` | removes request ids from texts of clouds before two texts are compared |
//! | `name` | names of Event objects |
//! | `dialect` | through which API group Events are written |

pub mod dialect;
pub mod masked;
pub mod name;
pub mod outbox;
