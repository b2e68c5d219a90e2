//! Invalid settings of a Machine.

use jiff::SignedDuration;
use machinist_api::{Machine, names};
use machinist_core::value::duration;

use crate::controllers::objects::metadata::annotation;

/// Returns the problem that blocks the creation of a Machine, since the setting may mean something else.
pub(crate) fn invalid(machine: &Machine) -> Option<String> {
    // Classes are found by their name alone, whatever kind is written: there is one kind of class.
    if machine.spec.class.kind.as_deref().unwrap_or_default().is_empty() {
        return Some("spec.class.kind is required: set it to MachineClass".into());
    }
    of_spec(machine).into_iter().next()
}

/// All of them, also those of annotations.
pub(crate) fn all(machine: &Machine) -> Vec<String> {
    let name = names::annotations::EFFECTIVE_CREATION_TIMEOUT;
    let noted = annotation(&machine.metadata, name);
    let field = format!("annotation {name}");
    of_spec(machine).into_iter().chain(of_duration(&field, noted)).collect()
}

fn of_spec(machine: &Machine) -> Vec<String> {
    let spec = &machine.spec;
    let retries = spec.max_evict_retries.filter(|retries| *retries < 0);
    let retries =
        retries.map(|retries| format!("spec.maxEvictRetries must not be negative, and is {retries}"));
    let durations = [
        ("spec.creationTimeout", &spec.creation_timeout),
        ("spec.healthTimeout", &spec.health_timeout),
        ("spec.drainTimeout", &spec.drain_timeout),
        ("spec.inPlaceUpdateTimeout", &spec.in_place_update_timeout),
        ("spec.machinePreserveTimeout", &spec.machine_preserve_timeout),
    ];
    let of_durations = durations.iter().filter_map(|(field, text)| of_duration(field, text.as_deref()));
    retries.into_iter().chain(of_durations).collect()
}

fn of_duration(field: &str, text: Option<&str>) -> Option<String> {
    match duration::parse(text?) {
        Ok(time) if time < SignedDuration::ZERO => {
            Some(format!("{field} must not be negative, and is {}", duration::format(time)))
        }
        Ok(_) => None,
        Err(error) => Some(format!("{field} is no duration: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(change: impl FnOnce(&mut Machine)) -> Machine {
        let mut machine = Machine::default();
        machine.spec.class.kind = Some(names::CLASS_KIND.to_owned());
        change(&mut machine);
        machine
    }

    #[test]
    fn every_invalid_setting_is_named_with_its_field() {
        let machine = machine(|machine| {
            let spec = &mut machine.spec;
            spec.max_evict_retries = Some(-5);
            spec.drain_timeout = Some("soon".into());
            spec.health_timeout = Some("-5m".into());
            let name = names::annotations::EFFECTIVE_CREATION_TIMEOUT.to_owned();
            machine.metadata.annotations = Some([(name, "1 week".to_owned())].into());
        });
        let problems = all(&machine).join("; ");
        for part in [
            "spec.maxEvictRetries must not be negative, and is -5",
            "spec.drainTimeout is no duration",
            "spec.healthTimeout must not be negative",
            "effective-creation-timeout is no duration",
        ] {
            assert!(problems.contains(part), "{part} is missing: {problems}");
        }
        assert!(invalid(&machine).is_some_and(|first| first.contains("maxEvictRetries")));
    }

    #[test]
    fn a_class_of_another_kind_is_found_by_its_name_and_one_without_a_kind_is_invalid() {
        let of_kind = |kind: &str| invalid(&machine(|machine| machine.spec.class.kind = Some(kind.into())));
        assert_eq!(of_kind("AWSMachineClass"), None);
        assert!(of_kind("").is_some_and(|problems| problems.contains("spec.class.kind is required")));
    }

    #[test]
    fn a_valid_setting_is_no_problem() {
        let machine = machine(|machine| machine.spec.drain_timeout = Some("2h0m0s".into()));
        assert_eq!((invalid(&machine), all(&machine)), (None, Vec::new()));
    }
}
