//! The driver of a class, and its version.

use machinist_api::{MachineClass, names};
use machinist_core::driver::ClassSpec;
use machinist_core::driver::error::Refusal;
use machinist_core::machine::DriverFact;
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{ClassName, ProviderName};

use crate::ports::Drivers;
use serde_json::Value;

/// The driver that a class chooses.
pub(crate) struct DriverChoice {
    pub(crate) provider: ProviderName,
    pin: Pin,
}

enum Pin {
    /// Any version that serves.
    None,
    To(DriverDigest),
    /// Something is meant, and cannot be understood.
    Malformed {
        message: String,
    },
}

impl DriverChoice {
    pub(crate) fn of(class: Option<&MachineClass>) -> Self {
        let provider = class.and_then(|class| class.provider.as_deref()).unwrap_or_default();
        let pin = match class.and_then(MachineClass::driver_digest).map(str::parse) {
            None => Pin::None,
            Some(Ok(digest)) => Pin::To(digest),
            Some(Err(error)) => Pin::Malformed { message: malformed(&error) },
        };
        Self { provider: ProviderName::folded(provider), pin }
    }

    /// The driver of an object that names a provider and no class.
    pub(crate) fn of_provider(provider: &str) -> Self {
        Self { provider: ProviderName::folded(provider), pin: Pin::None }
    }

    /// Returns the problem of the class's choice.
    pub(crate) fn problem(&self) -> Option<&str> {
        match &self.pin {
            Pin::Malformed { message } => Some(message),
            Pin::None | Pin::To(_) => None,
        }
    }

    /// The driver, as it is there.
    pub(crate) fn fact(&self, drivers: &dyn Drivers) -> DriverFact {
        let pin = match &self.pin {
            Pin::None => None,
            Pin::To(digest) => Some(*digest),
            Pin::Malformed { message } => return self.substitute(drivers, message.clone()),
        };
        match drivers.facts(&self.provider, pin) {
            Ok(facts) => DriverFact::Ready(facts),
            Err(refusal @ Refusal::NotLoaded { .. }) => self.substitute(drivers, refusal.to_string()),
            // It may be that the pinned version is being loaded: it is awaited.
            Err(refusal) => DriverFact::Refused(refusal),
        }
    }

    fn substitute(&self, drivers: &dyn Drivers, why: String) -> DriverFact {
        match drivers.facts(&self.provider, None) {
            Ok(serving) => DriverFact::Substitute { serving, why },
            Err(refusal) => DriverFact::Refused(refusal),
        }
    }

    /// Returns the version that may answer the calls of a reconcile that saw this driver. A substitute is called as
    /// itself.
    pub(crate) fn pin_for(&self, driver: &DriverFact) -> Option<DriverDigest> {
        match (driver, &self.pin) {
            (DriverFact::Substitute { .. }, _) | (_, Pin::None | Pin::Malformed { .. }) => None,
            (DriverFact::NotChosen | DriverFact::Refused(_) | DriverFact::Ready(_), Pin::To(digest)) => {
                Some(*digest)
            }
        }
    }
}

fn malformed(error: &dyn std::error::Error) -> String {
    let annotation = names::annotations::DRIVER_DIGEST;
    format!("annotation {annotation}: {error}; `machinist plugin list -o json` shows the digests")
}

/// Returns the class for a driver, given its state.
pub(crate) fn class_spec(
    class: Option<&MachineClass>,
    choice: &DriverChoice,
    driver: &DriverFact,
) -> ClassSpec {
    let name = class.and_then(|class| class.metadata.name.as_deref()).unwrap_or_default();
    let spec = class.and_then(|class| class.provider_spec.as_ref());
    let node_template = class
        .and_then(|class| class.node_template.as_ref())
        .and_then(|template| serde_json::to_string(template).ok());
    let zones = class.map(zones).unwrap_or_default();
    ClassSpec { node_template, zones, ..inline_spec(name, spec, choice, driver) }
}

/// The most zones that a class names; a region has fewer.
const MOST_ZONES: usize = 32;

/// Returns the zones that the class's annotation names, each once.
fn zones(class: &MachineClass) -> Vec<String> {
    let text = class.metadata.annotations.as_ref().and_then(|all| all.get(names::annotations::ZONES));
    let mut zones: Vec<String> = Vec::new();
    for zone in text.into_iter().flat_map(|text| text.split(',')).map(str::trim) {
        if !zone.is_empty() && zones.len() < MOST_ZONES && !zones.iter().any(|known| known == zone) {
            zones.push(zone.to_owned());
        }
    }
    zones
}

/// Returns what an object with its own parameters is to a driver: a class of this name.
pub(crate) fn inline_spec(
    name: &str,
    provider_spec: Option<&Value>,
    choice: &DriverChoice,
    driver: &DriverFact,
) -> ClassSpec {
    ClassSpec {
        name: ClassName::new(name),
        provider: choice.provider.clone(),
        spec: provider_spec.map_or_else(|| "null".to_owned(), ToString::to_string),
        node_template: None,
        zones: Vec::new(),
        driver_digest: choice.pin_for(driver),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The zones that a driver gets for a class with this annotation.
    fn zones_for_a_driver(annotation: &str) -> Vec<String> {
        let annotations = [(names::annotations::ZONES.to_owned(), annotation.to_owned())];
        let mut class = MachineClass::default();
        class.metadata.annotations = Some(annotations.into());
        class_spec(Some(&class), &DriverChoice::of(Some(&class)), &DriverFact::NotChosen).zones
    }

    #[test]
    fn the_zones_of_the_annotation_reach_the_driver_in_their_order_and_each_once() {
        assert_eq!(zones_for_a_driver("zone-b, zone-a,,zone-b ,zone-c"), ["zone-b", "zone-a", "zone-c"]);
        assert_eq!(zones_for_a_driver(" , "), Vec::<String>::new());
        let many: Vec<String> = (0..100).map(|number| format!("zone-{number}")).collect();
        assert_eq!(zones_for_a_driver(&many.join(",")), many[..MOST_ZONES]);
    }

    #[test]
    fn a_class_without_the_annotation_names_no_zones() {
        let class = MachineClass::default();
        let spec = class_spec(Some(&class), &DriverChoice::of(Some(&class)), &DriverFact::NotChosen);
        assert_eq!(spec.zones, Vec::<String>::new());
    }
}
