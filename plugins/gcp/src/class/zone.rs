//! The zones of a class: the failure domains of its instances.

use machinist_sdk::driver::{Class, Failure, quoted_up_to as quoted};
use serde_json::{Map, Value, json};

use crate::class::spec::{self, Spec, ZONE, ZONES};
use crate::names::is_place;

/// Returns the zones of a create, in the order in which they are tried: the class's own, those of its field `zones`,
/// those of the host. Subnets belong to a region, so zones of other regions are left out.
pub(crate) fn choices(spec: &Spec, named: &[String]) -> Vec<String> {
    let mut choices = vec![spec.zone.clone()];
    for zone in spec.zones.iter().chain(named) {
        if is_in_region(zone, &spec.region) && !choices.contains(zone) {
            choices.push(zone.clone());
        }
    }
    choices
}

/// Says which zones are never tried.
pub(crate) fn elsewhere(spec: &Spec, named: &[String]) -> Option<String> {
    let all = spec.zones.iter().chain(named);
    let elsewhere: Vec<&str> =
        all.filter(|zone| !is_in_region(zone, &spec.region)).map(String::as_str).collect();
    let shown = quoted(&elsewhere.join(", "), 200);
    (!elsewhere.is_empty()).then(|| format!("zones outside of region {} are not tried: {shown}", spec.region))
}

fn is_in_region(zone: &str, region: &str) -> bool {
    let letter = zone.strip_prefix(region).and_then(|rest| rest.strip_prefix('-'));
    is_place(zone) && letter.is_some_and(|letter| !letter.is_empty() && !letter.contains('-'))
}

/// Returns the `providerSpec` of a class in this zone and no other.
pub(crate) fn placed(class: &Class, zone: &str) -> Result<String, Failure> {
    let (spec, _) = spec::read(class)?;
    if !is_in_region(zone, &spec.region) && zone != spec.zone {
        let shown = quoted(zone, 40);
        return Err(spec::invalid(format!(
            "{shown} is no zone of region {}: use a class of its region",
            spec.region
        )));
    }
    let mut fields: Map<String, Value> =
        serde_json::from_str(&class.spec).map_err(|_| spec::invalid("it is not an object"))?;
    fields.retain(|name, _| !name.eq_ignore_ascii_case(ZONE) && !name.eq_ignore_ascii_case(ZONES));
    fields.insert(ZONE.to_owned(), json!(zone));
    Ok(Value::Object(fields).to_string())
}
