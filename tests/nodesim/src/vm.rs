//! A VM as its kubelet knows it, of whichever cloud.

/// A VM that runs, or ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    pub id: String,
    /// The name of its Node.
    pub node_name: String,
    /// The provider id of its Node.
    pub provider_id: String,
    pub region: String,
    pub zone: String,
    pub instance_type: String,
    pub cpus: u32,
    pub memory_gib: u32,
    pub gpus: u32,
    pub addresses: Vec<Address>,
    /// Tells one boot from another.
    pub boot_id: String,
}

/// An address, as in a Node's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// `InternalIP`, `InternalDNS`, `Hostname` and so on.
    pub kind: String,
    pub address: String,
}
