//! The settings of a template as those below it get them.

use kube::core::ObjectMeta;
use machinist_api::{MachineSpec, names};
use machinist_core::machine::inherited;

use super::metadata::annotation;

/// Names of the fields with a duration, in the order of [`durations`].
const DURATIONS: [&str; 5] =
    ["creationTimeout", "healthTimeout", "drainTimeout", "inPlaceUpdateTimeout", "machinePreserveTimeout"];

fn durations(spec: &mut MachineSpec) -> [&mut Option<String>; 5] {
    [
        &mut spec.creation_timeout, &mut spec.health_timeout, &mut spec.drain_timeout,
        &mut spec.in_place_update_timeout, &mut spec.machine_preserve_timeout,
    ]
}

/// Returns the spec without its invalid settings, and a problem for each of them. `at` is the path of the spec, with a
/// dot at its end.
pub(crate) fn valid_settings(spec: &MachineSpec, at: &str) -> (MachineSpec, Vec<String>) {
    let mut spec = spec.clone();
    let mut problems = Vec::new();
    for (field, value) in DURATIONS.into_iter().zip(durations(&mut spec)) {
        let Some(text) = value.take() else { continue };
        *value = inherited::time_out(&format!("{at}{field}"), &text)
            .map_err(|problem| problems.push(problem))
            .ok()
            .flatten();
    }
    if let Some(number) = spec.max_evict_retries {
        let tries = inherited::tries(&format!("{at}maxEvictRetries"), number);
        spec.max_evict_retries = tries.map_err(|problem| problems.push(problem)).ok();
    }
    (spec, problems)
}

/// Reads the creation time-out that was found out for a deployment: an annotation of the deployment, which its sets get
/// too.
pub(crate) fn effective_creation_timeout(meta: &ObjectMeta) -> Result<Option<String>, String> {
    let name = names::annotations::EFFECTIVE_CREATION_TIMEOUT;
    let Some(text) = annotation(meta, name) else { return Ok(None) };
    inherited::time_out(&format!("annotation {name}"), text)
}

/// Returns the spec with all durations in one form, for comparison. An invalid setting stays as it is, so that it
/// differs from every valid one.
pub(crate) fn normalized(spec: &MachineSpec) -> MachineSpec {
    let mut spec = spec.clone();
    for value in durations(&mut spec) {
        let formatted = value.as_deref().and_then(|text| inherited::time_out("", text).ok());
        if let Some(formatted) = formatted {
            *value = formatted;
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: serde_json::Value) -> MachineSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn no_text_is_handed_down_unparsed() {
        let fields: Vec<(&str, serde_json::Value)> =
            DURATIONS.iter().map(|field| (*field, json!("20min"))).collect();
        let mut wrong =
            json!({ "maxEvictRetries": -1, "nodeConditions": "A,B", "disableHealthTimeout": true });
        for (field, text) in fields {
            wrong[field] = text;
        }
        let (kept, problems) = valid_settings(&spec(wrong), "spec.template.spec.");
        assert_eq!(kept, spec(json!({ "nodeConditions": "A,B", "disableHealthTimeout": true })));
        assert_eq!(problems.len(), DURATIONS.len() + 1);
        assert!(problems[0].starts_with("spec.template.spec.creationTimeout is no duration"), "{problems:?}");
        let (right, none) = valid_settings(&spec(json!({ "drainTimeout": "2h", "maxEvictRetries": 3 })), "");
        assert_eq!(right, spec(json!({ "drainTimeout": "2h0m0s", "maxEvictRetries": 3 })));
        assert!(none.is_empty());
    }

    #[test]
    fn another_form_of_the_same_duration_is_no_difference_and_an_invalid_one_is() {
        let written = |text: &str| normalized(&spec(json!({ "drainTimeout": text })));
        assert_eq!(written("120m"), written("2h0m0s"));
        assert_eq!(written("2 h").drain_timeout.as_deref(), Some("2 h"));
        assert_eq!(written("").drain_timeout, None);
    }
}
