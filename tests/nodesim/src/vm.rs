//! A VM as its kubelet knows it, of whichever cloud.

/// A VM that runs, or ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    /// The cloud's id.
    pub id: String,
    /// The name of its Node.
    pub node_name: String,
    /// The provider id of its Node.
    pub provider_id: String,
    /// The region.
    pub region: String,
    /// The zone.
    pub zone: String,
    /// The machine type.
    pub instance_type: String,
    /// Processor cores.
    pub cpus: u32,
    /// Memory.
    pub memory_gib: u32,
    /// Graphics processors.
    pub gpus: u32,
    /// Addresses.
    pub addresses: Vec<Address>,
    /// Tells one boot from another.
    pub boot_id: String,
}

/// An address, as in a Node's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// `InternalIP`, `InternalDNS`, `Hostname` and so on.
    pub kind: String,
    /// The address.
    pub address: String,
}
