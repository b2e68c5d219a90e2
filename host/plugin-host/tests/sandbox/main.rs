//! The plugin host with real components: loading, swapping, limits, refusals.
//!
//! | module | content |
//! | --- | --- |
//! | `loading` | from bytes to a plugin that serves |
//! | `calls` | calls that run, wait or are refused |
//! | `limits` | a driver that misbehaves breaks its own call, by the name of the limit, and nothing else |
//! | `attacks` | attacks by a driver, by its cloud, and by both |
//! | `memory` | the memory of an instance at the end of its call |
//! | `policies` | health policies with real components: their input, their limits, and broken ones |
//! | `recordings` | calls that are recorded, and recordings that are played |
//! | `versions` | new versions: at once, as a canary, as a shadow |
//! | `go` | components of the SDK for Go, whose runtime needs more of its host |
//! | `fixture` | a plugin host in a folder of its own, and the functions that tests use |

mod attacks;
mod calls;
mod fixture;
mod go;
mod limits;
mod loading;
mod memory;
mod policies;
mod recordings;
mod versions;
