//! The resources that all plugins share: which call runs next, on which thread, which driver yields, and how much
//! memory each may hold.
//!
//! | module | what it does |
//! | --- | --- |
//! | `rate` | limits calls per minute for each plugin |
//! | `priority_semaphore`, `urgency` | places for calls, and the order of the queue |
//! | `seat` | the place of a call; a call that waits for its cloud account gives it up |
//! | `threads` | the threads of drivers |
//! | `cpu_time` | counts the processor time of each call |
//! | `cpu_share` | finds the driver that computes more than its share |
//! | `low_priority` | threads with low priority |
//! | `penalty` | sends the calls of a driver that broke or computed for long to those threads for a second |
//! | `budget` | the memory that all plugins may hold together |

pub(crate) mod budget;
pub(crate) mod cpu_share;
pub(crate) mod cpu_time;
pub(crate) mod low_priority;
pub(crate) mod penalty;
pub(crate) mod priority_semaphore;
pub(crate) mod rate;
pub(crate) mod seat;
pub(crate) mod threads;
pub(crate) mod urgency;
