//! Project, zones, machine types, images, times.

#[derive(Clone, Debug)]
pub struct MachineType {
    pub name: String,
    pub cpus: u32,
    pub memory_mb: u32,
    pub architecture: &'static str,
    /// Type and count of accelerators that belong to it.
    pub accelerator: Option<(String, u32)>,
    /// Zones that have it; empty means all.
    pub zones: Vec<String>,
}

/// The cloud of a test.
#[derive(Clone, Debug)]
pub struct Config {
    pub project: String,
    pub zones: Vec<String>,
    pub machine_types: Vec<MachineType>,
    /// Images by their path: `projects/PROJECT/global/images/NAME`, or a family.
    pub images: Vec<String>,
    pub networks: Vec<String>,
    /// Names of subnetworks, in each region.
    pub subnetworks: Vec<String>,
    pub disk_types: Vec<String>,
    pub accelerator_types: Vec<String>,
    /// The time of an operation from its begin to its end.
    pub operation_ms: u64,
    /// How long reads do not show a new instance, at the longest until its operation ends.
    pub read_lag_ms: u64,
    /// The quota of instances in the project.
    pub most_instances: usize,
    /// How long a request id is remembered.
    pub request_id_ms: u64,
}

impl Config {
    /// The machine type of a zone.
    pub fn machine_type(&self, zone: &str, name: &str) -> Option<&MachineType> {
        let is_there =
            |kind: &&MachineType| kind.zones.is_empty() || kind.zones.iter().any(|known| known == zone);
        self.machine_types.iter().filter(is_there).find(|kind| kind.name == name)
    }
}

impl Default for Config {
    fn default() -> Self {
        let kind = |name: &str, cpus: u32, memory_mb: u32, architecture: &'static str| MachineType {
            name: name.to_owned(),
            cpus,
            memory_mb,
            architecture,
            accelerator: None,
            zones: Vec::new(),
        };
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        Self {
            project: "machinist-lab".to_owned(),
            zones: ["b", "c", "d", "e", "f"].map(|letter| format!("europe-west1-{letter}")).to_vec(),
            machine_types: vec![
                kind("e2-medium", 2, 4096, "X86_64"),
                kind("n1-standard-2", 2, 7680, "X86_64"),
                kind("n2-standard-4", 4, 16384, "X86_64"),
                kind("t2a-standard-1", 1, 4096, "ARM64"),
                MachineType {
                    accelerator: Some(("nvidia-tesla-a100".to_owned(), 1)),
                    ..kind("a2-highgpu-1g", 12, 87040, "X86_64")
                },
                MachineType {
                    zones: texts(&["europe-west1-c"]),
                    ..kind("m1-ultramem-40", 40, 984_064, "X86_64")
                },
            ],
            images: texts(&[
                "projects/debian-cloud/global/images/debian-12-bookworm-v20261001",
                "projects/debian-cloud/global/images/family/debian-12",
            ]),
            networks: texts(&["default", "nodes"]),
            subnetworks: texts(&["nodes", "workers"]),
            disk_types: texts(&["pd-standard", "pd-balanced", "pd-ssd", "local-ssd", "hyperdisk-balanced"]),
            accelerator_types: texts(&["nvidia-tesla-t4"]),
            operation_ms: 200,
            read_lag_ms: 0,
            most_instances: 10_000,
            request_id_ms: 3_600_000,
        }
    }
}
