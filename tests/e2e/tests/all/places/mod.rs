//! Where the host runs: under which names, with which manifests.

pub(crate) mod binaries;
pub(crate) mod deploy;
pub(crate) mod sidecar;
