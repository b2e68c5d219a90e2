//! The availability zone of a class: the failure domain of its VMs.

use machinist_sdk::driver::{Class, Failure, invalid, quoted_up_to as quoted};
use serde_json::{Value, json};

use crate::class::spec;

/// The zones of Azure's regions.
const ZONES: [&str; 3] = ["1", "2", "3"];

/// Returns the `providerSpec` of a class in this zone and no other. A class with an availability set or a scale set has
/// no zone to choose.
pub(crate) fn placed(class: &Class, zone: &str) -> Result<String, Failure> {
    let (spec, _) = spec::read(class)?;
    let spec::Place::Zone(_) = spec.place else {
        return Err(refused(
            "properties.zone is missing: a class with availabilitySet or virtualMachineScaleSet cannot be put into a zone",
        ));
    };
    if !ZONES.contains(&zone) {
        let shown = quoted(zone, 40);
        return Err(refused(&format!(
            "properties.zone cannot be {shown}: Azure's failure domains are 1, 2 and 3"
        )));
    }
    let mut fields: Value = serde_json::from_str(&class.spec).map_err(|_| refused("it is not an object"))?;
    let number: i32 = zone.parse().map_err(|_| refused("properties.zone must be a number"))?;
    for (name, properties) in fields.as_object_mut().into_iter().flatten() {
        let Some(properties) = properties.as_object_mut().filter(|_| name.eq_ignore_ascii_case("properties"))
        else {
            continue;
        };
        properties.retain(|name, _| !name.eq_ignore_ascii_case("zone"));
        properties.insert("zone".to_owned(), json!(number));
    }
    Ok(fields.to_string())
}

fn refused(problem: &str) -> Failure {
    invalid(format!("the MachineClass's providerSpec is invalid: {problem}"))
}
