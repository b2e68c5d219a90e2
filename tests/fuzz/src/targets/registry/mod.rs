//! Answers of a registry.
//!
//! | module | input |
//! | --- | --- |
//! | `challenge` | challenges and redirects: the hosts that a login may be sent to |
//! | `logins` | logins of registries in Docker configurations |
//! | `manifest` | manifests, and documents of signatures |
//! | `reference` | references of artifacts |
//! | `signature` | public keys, and signatures of artifacts |

pub(super) mod challenge;
pub(super) mod logins;
pub(super) mod manifest;
pub(super) mod reference;
pub(super) mod signature;
