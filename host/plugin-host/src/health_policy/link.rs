//! The imports of a policy: a log, and inert interfaces that runtimes always import.

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Engine, Result};

use super::guest::PolicyState;
use crate::calls::bindings::driver::machinist::host::log;
use crate::calls::bindings::policy::machinist::policy::types;

pub(crate) fn linker(engine: &Engine) -> Result<Linker<PolicyState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    log::add_to_linker::<_, HasSelf<PolicyState>>(&mut linker, |state| state)?;
    types::add_to_linker::<_, HasSelf<PolicyState>>(&mut linker, |state| state)?;
    Ok(linker)
}
