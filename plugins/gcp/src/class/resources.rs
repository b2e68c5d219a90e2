//! The resources of a Node of a class: those of its machine type.

use machinist_sdk::driver::{Failure, NodeResources, not_found};

use crate::class::spec::Spec;
use crate::gce::Gce;
use crate::gce::answer::MachineType;

/// The resource of Nvidia's device plugin. Google has accelerators of other makers that no machine type of Nodes has.
const NVIDIA: &str = "nvidia";

/// Asks Google once for the size of the type.
pub(crate) fn of(spec: &Spec, gce: &Gce<'_>) -> Result<NodeResources, Failure> {
    match gce.machine_type(&spec.zone, &spec.machine_type)? {
        Some(size) => Ok(resources(spec, &size)),
        None => {
            Err(not_found(format!("Google has no machine type {} in zone {}", spec.machine_type, spec.zone)))
        }
    }
}

fn resources(spec: &Spec, size: &MachineType) -> NodeResources {
    let mut all = vec![
        ("cpu".to_owned(), size.cpus.to_string()),
        ("memory".to_owned(), format!("{}Mi", size.memory_mb)),
    ];
    if let Some(boot) = spec.disks.iter().find(|disk| disk.is_boot && disk.size_gb > 0) {
        all.push(("ephemeral-storage".to_owned(), format!("{}Gi", boot.size_gb)));
    }
    let attached = spec.accelerator.iter().map(|gpu| (gpu.kind.as_str(), gpu.count));
    let built_in = size.accelerators.iter().map(|(kind, count)| (kind.as_str(), *count));
    let gpus: i64 =
        attached.chain(built_in).filter(|(kind, _)| kind.contains(NVIDIA)).map(|(_, count)| count).sum();
    if gpus > 0 {
        all.push(("nvidia.com/gpu".to_owned(), gpus.to_string()));
    }
    NodeResources {
        resources: all,
        architecture: match size.architecture.as_str() {
            "ARM64" => Some("arm64".to_owned()),
            "X86_64" => Some("amd64".to_owned()),
            _ => None,
        },
        // An image decides about the operating system. This driver's user data is for Linux.
        operating_system: Some("linux".to_owned()),
    }
}
