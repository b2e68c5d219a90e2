//! The availability zone of a class: the failure domain of its instances.

use machinist_sdk::driver::{Class, Code, DriverError, Failure, quoted_up_to as quoted};
use serde_json::{Map, Value, json};

use crate::class::spec::{self, Spec};
use crate::ec2::errors::error;

/// The field of a class with the zone. The launch takes the zone's subnet, and tells EC2 the zone too, so that it
/// refuses a subnet of another one.
pub(crate) const ZONE: &str = "availabilityZone";
/// The field of a class with a subnet for each zone.
pub(crate) const SUBNETS: &str = "subnetsByZone";

/// Returns the `providerSpec` of a class in this zone and no other.
pub(crate) fn placed(class: &Class, zone: &str) -> Result<String, Failure> {
    let (spec, _) = spec::read(class)?;
    let is_there = spec.zone.as_deref() == Some(zone);
    if !is_there && !spec.subnets_by_zone.contains_key(zone) {
        let shown = quoted(zone, 40);
        return Err(invalid(format!("{SUBNETS} has no subnet for the zone {shown}: add one")));
    }
    let mut fields: Map<String, Value> =
        serde_json::from_str(&class.spec).map_err(|_| invalid("it is not an object"))?;
    fields.retain(|name, _| !name.eq_ignore_ascii_case(ZONE));
    fields.insert(ZONE.to_owned(), json!(zone));
    Ok(Value::Object(fields).to_string())
}

/// Returns the zones of a create, in the order in which they are tried: that of the class, then those of the host that
/// have a subnet. `None` is the class's own.
pub(crate) fn choices(spec: &Spec, named: &[String]) -> Vec<Option<String>> {
    let mut choices = vec![None];
    for zone in named.iter().filter(|zone| spec.subnets_by_zone.contains_key(*zone)) {
        if spec.zone.as_ref() != Some(zone) && !choices.iter().any(|known| known.as_ref() == Some(zone)) {
            choices.push(Some(zone.clone()));
        }
    }
    choices
}

/// Says which zones of the host have no subnet.
pub(crate) fn without_subnet(spec: &Spec, named: &[String]) -> Option<String> {
    let missing: Vec<&str> = named
        .iter()
        .map(String::as_str)
        .filter(|zone| spec.zone.as_deref() != Some(zone) && !spec.subnets_by_zone.contains_key(*zone))
        .collect();
    (!missing.is_empty()).then(|| {
        let zones = quoted(&missing.join(", "), 200);
        format!("{SUBNETS} has no subnet for zones of the annotation machinist.dev/zones, which are not tried: {zones}")
    })
}

fn invalid(problem: impl std::fmt::Display) -> Failure {
    let message = format!("the MachineClass's providerSpec is invalid: {problem}");
    Failure::from(DriverError { terminal: true, ..error(Code::InvalidArgument, message) })
}
