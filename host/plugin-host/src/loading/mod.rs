//! From the bytes of a component to code that can be called.
//!
//! | module | what it does |
//! | --- | --- |
//! | `load` | the steps of a load, in order |
//! | `digest` | digests of contents |
//! | `signatures` | which signatures a plugin needs, counters, the grants ceiling |
//! | `verify` | reads imports and exports before anything is compiled, and refuses unknown imports |
//! | `shape` | refuses code that no tool chain makes |
//! | `compiler` | code from the cache or the compiler: fast code first, optimised code later |
//! | `compile_queue` | which component is compiled next |
//! | `compiler_process` | compiles in a confined child process |
//! | `tier` | the tiers of code |
//! | `code_cache` | compiled code on disk |
//! | `inspect` | describes a component that does not serve |

pub(crate) mod code_cache;
pub(crate) mod compile_queue;
pub(crate) mod compiler;
pub(crate) mod compiler_process;
pub(crate) mod digest;
pub(crate) mod inspect;
pub(crate) mod load;
pub(crate) mod shape;
pub(crate) mod signatures;
pub(crate) mod tier;
pub mod verify;
