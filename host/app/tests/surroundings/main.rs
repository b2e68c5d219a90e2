//! The surroundings of a command: a reader that goes away, a proxy before the cluster, a cluster that is pushed to or
//! that holds what nobody can decode, a pod without a folder of its own.

mod cache;
mod pipes;
mod proxy;
mod push;
mod stub;
mod undecodable;
