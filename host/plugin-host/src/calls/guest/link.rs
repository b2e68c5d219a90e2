//! The imports of a driver: the interfaces that it is granted, and inert ones that runtimes always import.

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Engine, Result};

use super::GuestState;
use crate::calls::bindings::driver::machinist::host::{deadline, log, secrets, settings};
use crate::calls::bindings::driver::machinist::provider::types;

/// The one linker of all drivers.
pub(crate) fn linker(engine: &Engine) -> Result<Linker<GuestState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    log::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    settings::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    deadline::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    secrets::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    types::add_to_linker::<_, HasSelf<GuestState>>(&mut linker, |state| state)?;
    Ok(linker)
}
