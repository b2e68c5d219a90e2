//! Machines, from creation to nothing left.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `life` | from a Machine's creation over its Node's health to nothing left |
//! | `repair` | a missing prerequisite: the Machine reports it, and continues when it appears |
//! | `delete` | deletion always works, or says what it waits for |
//! | `crash` | exactly one VM for each Machine, at whatever moment the host is killed |
//! | `keyless` | a cloud without idempotency keys, where each lost answer may be a second VM |
//! | `lead` | hosts that take leadership, hand it over and end |
//! | `shapes` | control and target apart, no target at all, and machine-controller-manager's kinds |
//! | `observe` | metrics of Machines, which disappear with them, and Events |
//! | `bad_input` | objects that contradict themselves, all at once: never a crash, always a condition |

pub(crate) mod bad_input;
pub(crate) mod crash;
pub(crate) mod delete;
pub(crate) mod keyless;
pub(crate) mod lead;
pub(crate) mod life;
pub(crate) mod observe;
pub(crate) mod repair;
pub(crate) mod shapes;
