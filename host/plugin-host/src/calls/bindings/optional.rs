//! The exports that a driver may have beside `driver`, as Rust types.

#![allow(unreachable_pub, clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../../wit/provider/0.1.0",
    world: "machinist:provider/rebooter",
    imports: { default: trappable },
    exports: { default: async },
    require_store_data_send: true,
    with: {
        "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
    },
});

/// One VM of two, by its id.
pub(crate) mod delete_by_id {
    wasmtime::component::bindgen!({
        path: ["../../wit/provider/0.1.0", "../../wit/delete-by-id/0.1.0"],
        world: "machinist:delete-by-id/id-deleter",
        imports: { default: trappable },
        exports: { default: async },
        require_store_data_send: true,
        with: {
            "machinist:provider/types": crate::calls::bindings::driver::machinist::provider::types,
        },
    });
}
