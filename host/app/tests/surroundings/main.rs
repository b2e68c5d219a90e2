//! The surroundings of a command: a reader that goes away, a proxy before the cluster, a cluster that is pushed to.

mod pipes;
mod proxy;
mod push;
mod stub;
