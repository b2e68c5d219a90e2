//! The contract as Rust types, generated from `wit/provider/0.1.0`.
//!
//! One module a major version of the contract: a later one gets its own `bindgen!` beside this, and conversions go to
//! the newest only.

#![allow(unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit/provider/0.1.0",
    world: "machinist:provider/provider",
    imports: { default: trappable },
    exports: { default: async },
    require_store_data_send: true,
    with: {
        "machinist:host/secrets.secret": crate::guest::secrets::SecretHandle,
        "wasi:io": wasmtime_wasi::p2::bindings::io,
        "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
        "wasi:random": wasmtime_wasi::p2::bindings::random,
        "wasi:http": wasmtime_wasi_http::p2::bindings::http,
    },
});
