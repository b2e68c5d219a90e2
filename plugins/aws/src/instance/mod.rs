//! The life of an instance: launch, marks, initialisation, adoption.
//!
//! | module | what it does |
//! | --- | --- |
//! | `machine` | the work of each call in EC2 |
//! | `create` | from a request to exactly one instance |
//! | `launch` | the parameters of `RunInstances` |
//! | `initialize` | the steps after a launch: source/destination checks, IPv6 prefixes |
//! | `marks` | ownership of EC2 instances by Machines and clusters, by their tags |
//! | `adoption` | the operator's choice of another program's instances that a cluster adopts |
//! | `map` | from EC2's objects to the contract's types |

pub(crate) mod adoption;
pub(crate) mod create;
pub(crate) mod initialize;
pub(crate) mod launch;
pub(crate) mod machine;
pub(crate) mod map;
pub(crate) mod marks;
