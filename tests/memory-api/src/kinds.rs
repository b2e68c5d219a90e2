//! The kinds that the server keeps.

/// The facts about a kind that the server needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    /// With the group, where another group has the same word.
    pub(crate) plural: &'static str,
    pub(crate) name: &'static str,
    /// `/status` is written apart from everything else.
    pub(crate) has_status: bool,
    /// A custom resource: its generation counts changes of what is wished for, and its status is dropped on creation.
    pub(crate) is_custom: bool,
}

/// Events are forgotten after an hour, as servers do it by default.
pub(crate) const EVENTS_LIVE_FOR: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

impl Kind {
    /// The word in paths.
    fn resource(&self) -> &'static str {
        self.plural.split_once('.').map_or(self.plural, |(resource, _)| resource)
    }

    /// `apiVersion` of its objects.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

const fn kind(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    name: &'static str,
    has_status: bool,
    is_custom: bool,
) -> Kind {
    Kind { group, version, plural, name, has_status, is_custom }
}

static ALL: [Kind; 25] = [
    kind("machine.sapcloud.io", "v1alpha1", "machines", "Machine", true, true),
    kind("machine.sapcloud.io", "v1alpha1", "machineclasses", "MachineClass", true, true),
    kind("machine.sapcloud.io", "v1alpha1", "machinesets", "MachineSet", true, true),
    kind("machine.sapcloud.io", "v1alpha1", "machinedeployments", "MachineDeployment", true, true),
    kind("", "v1", "secrets", "Secret", false, false),
    kind("", "v1", "configmaps", "ConfigMap", false, false),
    kind("", "v1", "nodes", "Node", true, false),
    kind("", "v1", "pods", "Pod", true, false),
    kind("", "v1", "persistentvolumes", "PersistentVolume", true, false),
    kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true, false),
    kind("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", true, false),
    kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true, false),
    kind("events.k8s.io", "v1", "events", "Event", false, false),
    kind("", "v1", "events", "Event", false, false),
    kind("coordination.k8s.io", "v1", "leases", "Lease", false, false),
    kind("", "v1", "namespaces", "Namespace", true, false),
    kind("infrastructure.machinist.dev", "v1alpha1", "machinistmachines", "MachinistMachine", true, true),
    kind("infrastructure.machinist.dev", "v1alpha1", "machinistclusters", "MachinistCluster", true, true),
    kind(
        "infrastructure.machinist.dev", "v1alpha1", "machinistmachinetemplates", "MachinistMachineTemplate",
        true, true,
    ),
    kind(
        "infrastructure.machinist.dev", "v1alpha1", "machinistremediations", "MachinistRemediation", true,
        true,
    ),
    kind("infrastructure.machinist.dev", "v1alpha1", "machinistidentities", "MachinistIdentity", false, true),
    kind("cluster.x-k8s.io", "v1beta2", "machines.cluster.x-k8s.io", "Machine", true, true),
    kind("cluster.x-k8s.io", "v1beta2", "clusters.cluster.x-k8s.io", "Cluster", true, true),
    kind("cluster.x-k8s.io", "v1beta2", "machinesets.cluster.x-k8s.io", "MachineSet", true, true),
    kind(
        "cluster.x-k8s.io", "v1beta2", "machinedeployments.cluster.x-k8s.io", "MachineDeployment", true, true,
    ),
];

/// The kind of a path.
pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
    ALL.iter().find(|kind| kind.group == group && kind.version == version && kind.resource() == plural)
}

/// The kind of a resource. Events are in two groups, of which the first counts; all else is in one.
pub(crate) fn of(plural: &str) -> &'static Kind {
    ALL.iter().find(|kind| kind.plural == plural).unwrap_or_else(|| panic!("there is no resource {plural}"))
}
