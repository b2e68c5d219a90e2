//! The availability zones of a class: the failure domains of its VMs.

use machinist_sdk::driver::{Class, Failure, invalid, quoted_up_to as quoted};
use serde_json::{Value, json};

use crate::class::spec::{self, Place};

/// The zones of Azure's regions.
const ZONES: [&str; 3] = ["1", "2", "3"];

/// Returns the `providerSpec` of a class in this zone and no other. A class with an availability set or a scale set has
/// no zone to choose.
pub(crate) fn placed(class: &Class, zone: &str) -> Result<String, Failure> {
    let (spec, _) = spec::read(class)?;
    let Place::Zone(_) = spec.place else {
        return Err(refused(
            "properties.zone is missing: a class with availabilitySet or virtualMachineScaleSet cannot be put into a zone",
        ));
    };
    let Some(number) = number(zone) else {
        let shown = quoted(zone, 40);
        return Err(refused(&format!(
            "properties.zone cannot be {shown}: Azure's failure domains are 1, 2 and 3"
        )));
    };
    let mut fields: Value = serde_json::from_str(&class.spec).map_err(|_| refused("it is not an object"))?;
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

/// Returns the zones of a create, in the order in which they are tried: the class's own, then those of the host. A
/// class with an availability set or a scale set has none.
pub(crate) fn choices(class: &Class) -> Vec<i32> {
    let Place::Zone(own) = spec::read_in_part(class).place else { return Vec::new() };
    let mut choices = vec![own];
    for zone in class.zones.iter().filter_map(|zone| number(zone)) {
        if !choices.contains(&zone) {
            choices.push(zone);
        }
    }
    choices
}

/// Says which zones of the host are never tried.
pub(crate) fn never_tried(class: &Class) -> Option<String> {
    let choices = choices(class);
    let is_tried = |zone: &str| number(zone).is_some_and(|number| choices.contains(&number));
    let ignored: Vec<&str> = class.zones.iter().map(String::as_str).filter(|zone| !is_tried(zone)).collect();
    let shown = quoted(&ignored.join(", "), 200);
    (!ignored.is_empty()).then(|| {
        format!(
            "zones of the annotation machinist.dev/zones are not tried: {shown}: Azure's zones are 1, 2 and 3, and a class \
             with availabilitySet or virtualMachineScaleSet is in none"
        )
    })
}

fn number(zone: &str) -> Option<i32> {
    ZONES.contains(&zone).then(|| zone.parse().ok()).flatten()
}

fn refused(problem: &str) -> Failure {
    invalid(format!("the MachineClass's providerSpec is invalid: {problem}"))
}
