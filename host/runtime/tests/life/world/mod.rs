//! Everything around the hosts of a test: API server, cloud, kubelets.

pub(crate) mod busy_kubelet;
pub(crate) mod cloud;
pub(crate) mod kubelet;
pub(crate) mod stage;
