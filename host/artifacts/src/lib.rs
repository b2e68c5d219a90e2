//! Components as artifacts of OCI registries, and their signatures. Knows neither wasmtime nor Kubernetes.
//!
//! | question | module |
//! | --- | --- |
//! | what does `registry/repository:tag` name | [`reference`] |
//! | is this manifest a component, and where are its bytes | [`manifest`] |
//! | how is a registry asked, and what is not believed | [`registry`] |
//! | who may read there | [`credentials`], and programs that keep logins: [`helper`] |
//! | who has signed a component | [`signature`] |
//! | what a signature covers beside the component | [`bundle`] |
//! | what was fetched before | [`store`] |
//!
//! **Invariant:** no byte of a registry is used before its digest was checked, and none is read beyond a limit.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod bundle;
pub mod credentials;
pub mod digest;
pub mod helper;
pub mod manifest;
pub mod reference;
pub mod registry;
pub mod signature;
pub mod store;

pub use bundle::Bundle;
pub use credentials::{Credentials, Logins};
pub use digest::ContentDigest;
pub use reference::{Reference, Version};
pub use registry::{Error, Judge, Limits, Pulled, Registry, Target};
pub use signature::{Keyring, SigningKey};
