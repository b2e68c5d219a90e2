//! The contract of health policies as Rust types, generated from `wit/policy/0.1.0`.

#![allow(unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit/policy/0.1.0",
    world: "machinist:policy/health-policy",
    imports: { default: trappable },
    exports: { default: async },
    require_store_data_send: true,
    with: {
        "machinist:host/log": crate::calls::bindings::driver::machinist::host::log,
    },
});
