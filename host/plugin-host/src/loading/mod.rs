//! From the bytes of a component to code that can be called.
//!
//! A component up to 400 KiB is optimised at once. A larger one starts with code of the baseline compiler, or, where
//! that compiler does not support the component, the processor or the kind of code, with code of the optimising
//! compiler without its optimisations. Optimised code is made later and replaces the first code within the same
//! generation. A compilation that somebody waits for ends an optimisation, which starts again later. Baseline code has
//! an engine of its own, without a pool, and may use four times the stack and the processor time of the limits.
//!
//! | module | what it does |
//! | --- | --- |
//! | `load` | the steps of a load, in order |
//! | `verify` | reads imports and exports before anything is compiled, and refuses unknown imports |
//! | `shape` | refuses code that no tool chain makes |
//! | `compiler` | code from the cache or the compiler: fast code first, optimised code later |
//! | `compile_queue` | which component is compiled next |
//! | `compiler_process` | compiles in a confined child process |
//! | `code_cache` | compiled code on disk |
//! | `inspect` | describes a component that does not serve |

pub(crate) mod code_cache;
pub(crate) mod compile_queue;
pub(crate) mod compiler;
pub(crate) mod compiler_process;
pub(crate) mod inspect;
pub(crate) mod load;
pub(crate) mod shape;
pub(crate) mod verify;
