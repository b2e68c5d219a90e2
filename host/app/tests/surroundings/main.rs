//! The surroundings of a command: a reader that goes away, a proxy before the cluster, a cluster that is pushed to or
//! that holds what nobody can decode, a pod without a folder of its own.
//!
//! | module | content |
//! | --- | --- |
//! | `pipes` | commands whose reader ends before them, as `head` and pagers do |
//! | `cache` | command lines that name no folder for compiled plugins, in an image that has none |
//! | `proxy` | a proxy in the environment, between a command or the host and an API server |
//! | `push` | the notes that a push into a cluster prints beside its outcome |
//! | `undecodable` | objects that nobody can decode: each is left out by its name, and hides no other |
//! | `stub` | a server on loopback that answers as an API server, or as a proxy before one |

mod cache;
mod pipes;
mod proxy;
mod push;
mod stub;
mod undecodable;
