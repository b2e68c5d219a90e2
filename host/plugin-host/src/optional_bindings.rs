//! What a driver may export beside `driver`, as Rust types.

#![allow(unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit/provider/0.1.0",
    world: "machinist:provider/rebooter",
    imports: { default: trappable },
    exports: { default: async },
    require_store_data_send: true,
    with: {
        "machinist:provider/types": crate::bindings::machinist::provider::types,
    },
});
