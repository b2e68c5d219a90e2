//! Components as artifacts of OCI registries, and their signatures. Knows neither wasmtime nor Kubernetes.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`reference`] | parses `registry/repository:tag` |
//! | [`manifest`] | is this manifest a component, and where are its bytes? |
//! | [`registry`] | the client: every answer has a limit of size and time |
//! | [`credentials`], [`helper`], `login` | logins, from files and from programs that keep them |
//! | [`signature`] | checks and makes signatures |
//! | [`bundle`] | the statement that a signature covers |
//! | [`digest`] | digests as registries write them |
//! | [`store`] | keeps fetched files |
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
mod login;
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
