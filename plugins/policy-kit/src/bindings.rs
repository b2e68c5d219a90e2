//! What is generated from the contract.

#![allow(
    missing_docs,
    unsafe_code,
    clippy::all,
    reason = "generated: the canonical ABI is pointers and lengths"
)]

wit_bindgen::generate!({
    path: "../../wit/policy/0.1.0",
    world: "health-policy",
    generate_all,
    pub_export_macro: true,
    default_bindings_module: "policy_kit::bindings",
});
