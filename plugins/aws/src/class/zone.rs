//! The availability zone of a class: the failure domain of its instances.

use machinist_sdk::driver::{Class, Code, DriverError, Failure, quoted_up_to as quoted};
use serde_json::{Map, Value, json};

use crate::class::spec;
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

fn invalid(problem: impl std::fmt::Display) -> Failure {
    let message = format!("the MachineClass's providerSpec is invalid: {problem}");
    Failure::from(DriverError { terminal: true, ..error(Code::InvalidArgument, message) })
}
