//! The resources of a Node of a class: those of its instance type.

use machinist_sdk::driver::{Failure, NodeResources, not_found};

use crate::class::spec::Spec;
use crate::ec2::Ec2;
use crate::ec2::answer::InstanceType;

/// Asks EC2 once for the size of the type.
pub(crate) fn of(spec: &Spec, ec2: Ec2<'_>) -> Result<NodeResources, Failure> {
    match ec2.instance_type(&spec.machine_type)? {
        Some(size) => Ok(resources(spec, &size)),
        None => Err(not_found(format!("EC2 has no instance type {} in {}", spec.machine_type, spec.region))),
    }
}

/// CPU options make an instance smaller than its type. A class names the size of the root volume itself.
fn resources(spec: &Spec, size: &InstanceType) -> NodeResources {
    let cpu = spec.cpu.as_ref();
    let chosen = cpu.and_then(|cpu| Some(i64::from(cpu.cores?) * i64::from(cpu.threads_per_core?)));
    let cpus = chosen.filter(|cpus| *cpus > 0).unwrap_or(size.cpus);
    let mut all =
        vec![("cpu".to_owned(), cpus.to_string()), ("memory".to_owned(), format!("{}Mi", size.memory_mib))];
    if let Some(root) = spec.disks.iter().find(|disk| disk.device.is_none()) {
        all.push(("ephemeral-storage".to_owned(), format!("{}Gi", root.size_gib)));
    }
    for (name, count) in [("nvidia.com/gpu", size.nvidia_gpus), ("amd.com/gpu", size.amd_gpus)] {
        if count > 0 {
            all.push((name.to_owned(), count.to_string()));
        }
    }
    let architecture = size.architectures.iter().find_map(|name| match name.as_str() {
        "x86_64" => Some("amd64"),
        "arm64" => Some("arm64"),
        _ => None,
    });
    // An image decides about the operating system. This driver's user data is for Linux.
    NodeResources {
        resources: all,
        architecture: architecture.map(str::to_owned),
        operating_system: Some("linux".to_owned()),
    }
}
