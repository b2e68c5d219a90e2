//! From the bytes of a component to code that can be called: checked, signed, compiled, cached, linked.

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
