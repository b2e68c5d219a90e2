//! The resources of a Node of a class: those of its VM size.

use machinist_sdk::driver::{Failure, NodeResources, not_found};
use serde_json::Value;

use crate::arm::Arm;
use crate::class::spec::Spec;

/// Asks Azure once for the sizes of the location. The answer names neither GPUs nor processors; the name of a size says
/// which processor it has.
pub(crate) fn of(spec: &Spec, arm: &Arm<'_>) -> Result<NodeResources, Failure> {
    let sizes = arm.sizes(&spec.location)?;
    let is_it = |size: &&Value| {
        size.get("name").and_then(Value::as_str).is_some_and(|name| name.eq_ignore_ascii_case(&spec.size))
    };
    let number =
        |size: &Value, name: &str| size.get(name).and_then(Value::as_u64).filter(|number| *number > 0);
    let found = sizes.iter().find(is_it);
    let numbers = found.and_then(|size| Some((number(size, "numberOfCores")?, number(size, "memoryInMB")?)));
    let Some((cores, memory_mib)) = numbers else {
        return Err(not_found(format!("Azure has no VM size {} in {}", spec.size, spec.location)));
    };
    Ok(NodeResources {
        resources: vec![
            ("cpu".to_owned(), cores.to_string()),
            ("memory".to_owned(), format!("{memory_mib}Mi")),
            ("ephemeral-storage".to_owned(), format!("{}Gi", spec.os_disk.size_gib)),
        ],
        architecture: Some(architecture(&spec.size).to_owned()),
        // An image decides about the operating system. This driver's VMs have a configuration for Linux.
        operating_system: Some("linux".to_owned()),
    })
}

/// Returns the processor of a size by Azure's naming rules: in `Standard_D4ps_v5` the letters after the number are
/// features, and `p` is an Arm processor.
fn architecture(size: &str) -> &'static str {
    let family = size.split('_').nth(1).unwrap_or_default();
    let features = family.trim_start_matches(|char: char| char.is_ascii_alphabetic());
    let features = features.trim_start_matches(|char: char| char.is_ascii_digit() || char == '-');
    if features.contains('p') { "arm64" } else { "amd64" }
}

#[cfg(test)]
mod tests {
    use super::architecture;

    #[test]
    fn the_name_of_a_size_says_which_processor_it_has() {
        for (size, expected) in [
            ("Standard_D2s_v5", "amd64"),
            ("Standard_D4ps_v5", "arm64"),
            ("Standard_E16-8pds_v6", "arm64"),
            ("Standard_B2pts_v2", "arm64"),
            ("Standard_NP10s", "amd64"),
            ("Basic_A1", "amd64"),
            ("unusual", "amd64"),
        ] {
            assert_eq!(architecture(size), expected, "{size}");
        }
    }
}
