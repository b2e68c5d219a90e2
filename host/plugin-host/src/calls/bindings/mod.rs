//! The contracts of `wit/` as Rust types.
//!
//! | module | which contract |
//! | --- | --- |
//! | `driver` | `wit/provider` |
//! | `optional` | exports that a driver may leave out |
//! | `policy` | `wit/policy` |

pub(crate) mod driver;
pub(crate) mod optional;

/// The contract of health policies, generated from `wit/policy/0.1.0`.
#[allow(unreachable_pub, clippy::all, reason = "generated code")]
pub(crate) mod policy {
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
}
