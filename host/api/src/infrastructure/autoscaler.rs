//! Names by which users tell cluster-autoscaler about MachineDeployments. They are Cluster API's, and count for the
//! MachineDeployments of machine-controller-manager alike.

pub mod annotations {
    /// On a MachineDeployment: how many nodes it has at least; 0 where it is missing.
    pub const MIN_SIZE: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
    /// On a MachineDeployment: how many nodes it has at most. Its presence makes it a node group.
    pub const MAX_SIZE: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
    /// On a MachineDeployment, with the name of a resource after it: what its next node has.
    pub const CAPACITY_PREFIX: &str = "capacity.cluster-autoscaler.kubernetes.io/";
    /// On a MachineDeployment, with the name of an option after it: a setting of the autoscaler for this group.
    pub const OPTION_PREFIX: &str = "cluster.x-k8s.io/autoscaling-options-";
    /// The same as Gardener writes it, with hyphens in the names of options. Loses against [`OPTION_PREFIX`].
    pub const GARDENER_OPTION_PREFIX: &str = "autoscaler.gardener.cloud/";
    /// On a Machine of Cluster API: its set deletes it first.
    pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
    /// On a MachineDeployment: `machine~time,machine~time`, the Machines for whose deletion the autoscaler has lowered
    /// the replicas. Written by the host in the same request as the replicas.
    pub const CHOSEN_MACHINES: &str = "machinist.dev/autoscaler-chosen-machines";
}

pub mod labels {
    /// On a Node with GPUs: their kind, where Gardener makes the Nodes.
    pub const GARDENER_GPU: &str = "gardener.cloud/accelerator";
    /// The same for Nodes of Cluster API.
    pub const GPU: &str = "cluster-api/accelerator";
}

/// Cluster API copies labels of these domains and their subdomains from a Machine to its Node.
pub const COPIED_DOMAINS: [&str; 3] =
    ["node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io"];

/// Returns whether Cluster API copies a label from a Machine to its Node.
pub fn is_copied(label: &str) -> bool {
    let Some((domain, _)) = label.split_once('/') else { return false };
    COPIED_DOMAINS.iter().enumerate().any(|(at, copied)| {
        // Roles have no subdomains.
        let is_below = at > 0 && domain.strip_suffix(copied).is_some_and(|front| front.ends_with('.'));
        domain == *copied || is_below
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_api_copies_labels_of_three_domains() {
        for (label, expected) in [
            ("node-role.kubernetes.io/worker", true),
            ("node-restriction.kubernetes.io/a", true),
            ("team.node-restriction.kubernetes.io/a", true),
            ("node.cluster.x-k8s.io/a", true),
            ("a.node.cluster.x-k8s.io/a", true),
            ("a.node-role.kubernetes.io/a", false),
            ("anode.cluster.x-k8s.io/a", false),
            ("pool", false),
            ("example.org/node.cluster.x-k8s.io", false),
        ] {
            assert_eq!(is_copied(label), expected, "{label}");
        }
    }
}
