//! The surroundings of a command: a reader that goes away, a proxy before the cluster.

mod pipes;
mod proxy;
mod stub;
