//! Where the host runs: under which names, with which manifests.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `binaries` | the host in the place of machine-controller-manager's binaries, with their arguments |
//! | `sidecar` | the host in a pod that was made for machine-controller-manager |
//! | `deploy` | the folder `deploy/`, as a cluster, the host and a builder of images read it |

pub(crate) mod binaries;
pub(crate) mod deploy;
pub(crate) mod sidecar;
