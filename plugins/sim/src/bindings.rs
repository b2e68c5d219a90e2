//! What is generated from the contract.
//!
//! Only a component exports it: elsewhere the names of exports are none that a linker takes.
#![cfg_attr(
    target_family = "wasm",
    expect(unsafe_code, reason = "generated: the canonical ABI is pointers and lengths")
)]

#[cfg(target_family = "wasm")]
use crate::component::Driver;

wit_bindgen::generate!({
    path: "../../wit/provider/0.1.0",
    world: "full-provider",
    generate_all,
});

#[cfg(target_family = "wasm")]
export!(Driver);
